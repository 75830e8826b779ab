import { readChildren, type Vocabulary, within } from "#domain/normalize/ElementContext.ts"
import { Draft } from "#domain/normalize/Draft.ts"
import { objectOf } from "#domain/normalize/BuildModel.ts"
import { addPerson, personIn } from "#domain/normalize/Persons.ts"
import { words } from "#domain/normalize/Texts.ts"

const MOST = 50

/** Atom Activity Streams 1.0: what was done (verb), to what (object), by whom (actor, which is the author by another name). */
export const activityStreams: Vocabulary = {
  verb: (element, draft) => {
    const verb = words(element)
    if (verb !== undefined && (draft.verbs ??= []).length < MOST) draft.verbs.push(verb)
  },
  "object-type": (element, draft) => {
    const type = words(element)
    if (type !== undefined && (draft.objectTypes ??= []).length < MOST) draft.objectTypes.push(type)
  },
  object: (element, draft, around) => {
    if (draft.kind === "feed" || (draft.objects?.length ?? 0) >= MOST) return
    const context = within(element, around)
    const object = new Draft("object")
    readChildren(element, object, context)
    ;(draft.objects ??= []).push(objectOf(object))
  },
  actor: (element, draft, context) => {
    draft.authors = addPerson(draft.authors, personIn(element, context))
  }
}
