import { activityStreams } from "./ActivityStreams.ts"
import { admin } from "./Admin.ts"
import { content } from "./Content.ts"
import { creativeCommons, rdfLicense } from "./CreativeCommons.ts"
import { dublinCore, dublinCoreTerms } from "./DublinCore.ts"
import { enclosures } from "./Enclosures.ts"
import { feedBurner } from "./FeedBurner.ts"
import { geo, icbm } from "./Geo.ts"
import { geoRss } from "./GeoRss.ts"
import { gml } from "./Gml.ts"
import { itunes } from "./Itunes.ts"
import { media } from "./Media.ts"
import type { Namespace } from "./Namespace.ts"
import { podcast } from "./Podcast.ts"
import { scripting } from "./Scripting.ts"
import { slash } from "./Slash.ts"
import { syndication } from "./Syndication.ts"
import { threading } from "./Threading.ts"
import { wellFormedWeb } from "./WellFormedWeb.ts"
import { xhtml } from "./Xhtml.ts"

/** The namespaces that Windhover reads in RSS and Atom. A new namespace needs its own file and a place in this list. */
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
