import { buildObject } from "#domain/normalize/BuildModel.ts"
import { Draft } from "#domain/normalize/Draft.ts"
import { enterElement, readChildren } from "#domain/normalize/ElementContext.ts"
import { addPerson, readPerson } from "#domain/normalize/Persons.ts"
import { getNonEmptyText } from "#domain/normalize/Texts.ts"
import type { Namespace } from "./Namespace.ts"

const maxActivities = 50

/** Atom Activity Streams 1.0: verb, object and actor. The actor is an author. */
export const activityStreams: Namespace = {
  key: "activity",
  uris: ["http://activitystrea.ms/spec/1.0", "http://activitystrea.ms/schema/1.0"],
  vocabulary: {
    verb: (element, draft) => {
      const verb = getNonEmptyText(element)
      if (verb !== undefined && (draft.verbs ??= []).length < maxActivities) draft.verbs.push(verb)
    },
    "object-type": (element, draft) => {
      const type = getNonEmptyText(element)
      if (type !== undefined && (draft.objectTypes ??= []).length < maxActivities) draft.objectTypes.push(type)
    },
    object: (element, draft, outer) => {
      if (draft.kind === "feed" || (draft.objects?.length ?? 0) >= maxActivities) return
      const context = enterElement(element, outer)
      const object = new Draft("object")
      readChildren(element, object, context)
      ;(draft.objects ??= []).push(buildObject(object))
    },
    actor: (element, draft, context) => {
      draft.authors = addPerson(draft.authors, readPerson(element, context))
    }
  }
}
