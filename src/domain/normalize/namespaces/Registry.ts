import { activityStreams } from "./ActivityStreams.ts"
import {
  admin,
  content,
  creativeCommons,
  enclosures,
  feedBurner,
  rdfLicense,
  scripting,
  slash,
  syndication,
  wellFormedWeb,
  xhtml
} from "./RssModules.ts"
import { dublinCore, dublinCoreTerms } from "./DublinCore.ts"
import { geo, geoRss, gml, icbm } from "./Geo.ts"
import { itunes } from "./Itunes.ts"
import { media } from "./Media.ts"
import type { Namespace } from "./Namespace.ts"
import { podcast } from "./Podcast.ts"
import { threading } from "./Threading.ts"

/** The namespaces that Windhover reads in RSS and Atom. A new namespace needs its readers in this folder and a place in this list. */
export const namespaces: ReadonlyArray<Namespace> = [
  activityStreams,
  admin,
  content,
  creativeCommons,
  dublinCore,
  dublinCoreTerms,
  enclosures,
  feedBurner,
  geo,
  geoRss,
  gml,
  icbm,
  itunes,
  media,
  podcast,
  rdfLicense,
  scripting,
  slash,
  syndication,
  threading,
  wellFormedWeb,
  xhtml
]
