import { Effect, Schema } from "effect"
import { Inspector } from "#actors/operations/Inspector.ts"
import { maxTopicLength } from "#domain/Topic.ts"
import * as Field from "./Fields.ts"
import { makeRoute, type ManagementRoute } from "./ManagementRoute.ts"

const glimpse = Schema.Struct({
  title: Schema.String,
  link: Field.optional(Schema.String),
  published: Field.optional(Field.time)
})

const glimpseJson = ({ published, ...entry }: { readonly title: string; readonly published?: number }) => ({
  ...entry,
  ...(published !== undefined && Math.abs(published) <= 8.64e15 && { published: Field.formatTime(published) })
})

const inspect = makeRoute({
  method: "GET",
  path: "/api/inspect",
  right: "subscribe",
  group: "Resources",
  summary: "Looks at a URL before a subscription: its kind, its feeds, its places, and the text that a path selects",
  input: Schema.Struct({
    url: Field.text(maxTopicLength, "URL of a page, feed or document.", "a URL"),
    path: Field.optional(Field.text(1_000, "CSS path, or JSONPath if it begins with `$`.", "a path"))
  }),
  output: Schema.Struct({
    url: Schema.String,
    finalUrl: Schema.String.annotate({ description: "Behind all redirects." }),
    code: Schema.Int.annotate({ description: "HTTP status; 0 without an answer." }),
    contentType: Field.optional(Schema.String),
    bytes: Schema.Int,
    kind: Schema.Literals(["feed", "html", "xml", "json", "other", "empty", "unreachable"]),
    problem: Field.optional(Schema.String),
    title: Field.optional(Schema.String),
    entries: Field.optional(Schema.Int),
    newest: Field.optional(glimpse),
    feeds: Field.optional(Schema.Array(Schema.Struct({
      url: Schema.String,
      title: Field.optional(Schema.String),
      entries: Field.optional(Schema.Int),
      newest: Field.optional(glimpse),
      problem: Field.optional(Schema.String)
    }))),
    outline: Field.optional(Schema.Struct({
      lines: Schema.Array(Schema.Struct({
        depth: Schema.Int,
        label: Schema.String,
        text: Schema.String,
        path: Schema.String.annotate({ description: "A path that selects the place." }),
        isSelected: Schema.Boolean
      })),
      isCut: Schema.Boolean
    })),
    selected: Field.optional(Schema.Struct({
      matches: Schema.Int,
      contentType: Schema.String,
      text: Schema.String.annotate({ description: "The beginning of the body that a subscription gets." }),
      isCut: Schema.Boolean
    })),
    pathProblem: Field.optional(Schema.String),
    body: Field.optional(
      Schema.String.annotate({ description: "The first 128 KiB of a text, without control characters." })
    ),
    isBodyCut: Field.optional(Schema.Boolean)
  }),
  run: Effect.fnUntraced(function*(input, { caller }) {
    const { feeds, newest, ...inspection } = yield* Inspector.use((inspector) =>
      inspector.inspect({ caller, ...input })
    )
    return {
      ...inspection,
      ...(newest !== undefined && { newest: glimpseJson(newest) }),
      ...(feeds !== undefined && {
        feeds: feeds.map(({ newest, ...feed }) => ({
          ...feed,
          ...(newest !== undefined && { newest: glimpseJson(newest) })
        }))
      })
    }
  })
})

export const inspectRoutes: ReadonlyArray<ManagementRoute<Inspector>> = [inspect]
