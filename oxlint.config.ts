/**
 * Checks what each room may import, and the mistakes that the compiler lets through. `tsc` does the rest.
 *
 * A room is a folder of `src`. `rooms` below is the whole architecture: a file may import its own room, the rooms and the packages that the
 * table names, and nothing else. `test/lint/Rooms.test.ts` plants a violation of each rule.
 */

interface Room {
  /** Rooms that a file may import, besides its own: the folder itself, and with `/**` the folders in it. */
  readonly rooms: ReadonlyArray<string>
  /** Packages and modules; `!` before a name takes it out again. */
  readonly packages: ReadonlyArray<string>
  /** Ends the message of a refused import. */
  readonly reason: string
}

const clusterPackages = ["effect", "effect/cluster/**", "effect/rpc/**"]
const domainPackages = ["effect", "tldts", "xxhash-wasm"]
const httpPackages = [
  "effect",
  "effect/**",
  "!effect/sql",
  "!effect/sql/**",
  "@effect/platform-node/**",
  "node:crypto",
  "node:http",
  "node:net"
]

const pure = "no other room, no effect/*, no node:*"
const behindPorts =
  "modules of effect/cluster and effect/rpc are imported each by its own path (a start loads the rest of them for nothing), and the outside world is behind the ports of domain"
const webOnly = "it neither knows its sister nor what is provided to it, and stores and fetches nothing itself"
const outside = "it fills ports and knows nobody who uses them"

const publishedAlone = "A package is published alone: it imports its own files, and its adapters of Node also node:*."
const nodeAdapters = ["packages/receiver/src/{node,NodeListener,FileStore}.ts"]

/** A folder that is not named here has the rule of the folder above it. */
const rooms: { readonly [folder: string]: Room } = {
  "domain": { rooms: ["domain/**"], packages: domainPackages, reason: pure },
  "domain/collections": { rooms: [], packages: ["effect"], reason: pure },
  "domain/feed": { rooms: ["domain"], packages: domainPackages, reason: pure },
  "domain/normalize": {
    rooms: ["domain", "domain/feed", "domain/normalize/**"],
    packages: [...domainPackages, "entities", "entities/**"],
    reason: pure
  },
  "domain/render": {
    rooms: ["domain", "domain/feed", "domain/normalize/bytes", "domain/poll", "domain/delivery"],
    packages: [...domainPackages, "entities"],
    reason: pure
  },
  "domain/transfer": {
    rooms: ["domain", "domain/delivery", "domain/feed", "domain/render"],
    packages: [...domainPackages, "htmlparser2"],
    reason: pure
  },

  "actors": { rooms: ["actors/**", "domain/**"], packages: clusterPackages, reason: behindPorts },
  "actors/runtime": { rooms: ["domain/**"], packages: clusterPackages, reason: behindPorts },
  "actors/limits": { rooms: ["actors/runtime", "domain/**"], packages: clusterPackages, reason: behindPorts },
  "actors/stream": { rooms: ["actors/runtime", "domain/**"], packages: clusterPackages, reason: behindPorts },
  "actors/subscription": {
    rooms: ["actors/runtime", "actors/limits", "domain/**"],
    packages: clusterPackages,
    reason: behindPorts
  },
  "actors/resource": {
    rooms: ["actors/runtime", "actors/limits", "actors/stream", "actors/subscription", "domain/**"],
    packages: clusterPackages,
    reason: behindPorts
  },
  "actors/cluster": {
    rooms: ["actors/runtime", "actors/limits", "actors/subscription", "actors/resource", "domain/**"],
    packages: clusterPackages,
    reason: behindPorts
  },
  "actors/operations": {
    rooms: ["actors/runtime", "actors/limits", "actors/stream", "actors/subscription", "actors/cluster", "domain/**"],
    packages: clusterPackages,
    reason: behindPorts
  },

  "http": { rooms: ["http/**", "domain/**", "actors/**"], packages: httpPackages, reason: webOnly },
  "http/api": { rooms: ["http", "actors/**", "domain/**"], packages: httpPackages, reason: webOnly },
  "http/management": {
    rooms: ["http", "actors/**", "domain/**"],
    packages: [...httpPackages, "diff"],
    reason: webOnly
  },
  "http/pages": {
    rooms: ["http", "http/management", "actors/**", "domain/**"],
    packages: [
      ...httpPackages,
      "markdown-it",
      "sanitize-html",
      "node:fs/promises",
      "node:module",
      "node:util",
      "node:zlib"
    ],
    reason: `${webOnly}; it reads its own assets and the documents`
  },
  "http/pages/elements": { rooms: [], packages: [], reason: "a browser runs these files alone" },
  "http/stream": { rooms: ["http", "http/api", "actors/**", "domain/**"], packages: httpPackages, reason: webOnly },
  "http/websub": { rooms: ["http", "actors/**", "domain/**"], packages: httpPackages, reason: webOnly },

  "xmpp": {
    rooms: ["domain/**", "actors/**"],
    packages: [...clusterPackages, "@xmpp/xml", "node:crypto", "node:events", "node:net"],
    reason:
      "it neither knows its sister nor what is provided to it, speaks no HTTP and stores nothing itself; modules of effect/cluster are imported each by its own path"
  },

  "layers": { rooms: ["layers/**", "domain/**"], packages: ["**"], reason: outside },
  "layers/sql": {
    rooms: ["layers", "layers/sql/**", "layers/postgres", "domain/**"],
    packages: ["**"],
    reason: outside
  },
  "layers/postgres": {
    rooms: ["layers", "layers/postgres/**", "layers/sql/**", "domain/**"],
    packages: ["**"],
    reason: outside
  },
  "layers/outbound": { rooms: ["layers", "domain/**"], packages: ["**"], reason: outside },
  "layers/server": { rooms: ["layers", "domain/**"], packages: ["**"], reason: outside },
  "layers/workers": { rooms: ["layers", "layers/workers/**", "domain/**"], packages: ["**"], reason: outside }
}

/** Names that `#` stands before: the rooms, and what is no room of the sources. */
const aliases = ["domain", "actors", "http", "xmpp", "layers", "main", "scripts", "packages", "test"]

const never = { regex: "(^|/)\\.\\.(/|$)", message: "A room is left by name (`#domain/Topic.ts`), never by `../`." }

const roomPattern = (folder: string, { packages, reason, rooms }: Room) => {
  const named = [folder, ...rooms]
  const allowed = named.map((room) => room.endsWith("/**") ? `#${room}` : `#${room}/*`)
  const refused = packages.includes("**") ? aliases.map((alias) => `#${alias}/**`) : ["**", "!./**", "!../**"]
  return {
    group: [...refused, ...allowed.map((name) => `!${name}`), ...packages.flatMap(unrefused)],
    message: `${folder} imports ${[...new Set(named.map((room) => room.replace("/**", "")))].join(", ")}${
      packages.includes("**") ? "" : ` and ${packages.filter((name) => !name.startsWith("!")).join(", ")}`
    }: ${reason}.`
  }
}

const unrefused = (name: string): ReadonlyArray<string> =>
  name === "**" ? [] : name.startsWith("!") ? [name.slice(1)] : [`!${name}`]

const time = [
  { object: "Date", property: "now", message: "Time comes from Clock, so that TestClock drives it." },
  { object: "performance", property: "now", message: "Time comes from Clock, so that TestClock drives it." }
]
const chance = [
  { object: "Math", property: "random", message: "Random comes from Random, so that tests can seed it." },
  { object: "crypto", property: "randomUUID", message: "Random comes from Random, so that tests can seed it." }
]
const outsideGlobals = ["globalThis", "fetch", "process", "WebSocket", "EventSource"]
const timers = ["setTimeout", "setInterval", "setImmediate", "queueMicrotask"]

const effectOfTime = [
  "Layer",
  "LayerMap",
  "ManagedRuntime",
  "Runtime",
  "Fiber",
  "FiberHandle",
  "FiberMap",
  "FiberSet",
  "Queue",
  "TxQueue",
  "PubSub",
  "TxPubSub",
  "TxPriorityQueue",
  "Ref",
  "ScopedRef",
  "SubscriptionRef",
  "SynchronizedRef",
  "TxRef",
  "TxHashMap",
  "TxHashSet",
  "Deferred",
  "Latch",
  "Semaphore",
  "PartitionedSemaphore",
  "Pool",
  "Cache",
  "ScopedCache",
  "Clock",
  "Random",
  "Config",
  "ConfigProvider",
  "Console",
  "FileSystem",
  "Terminal"
]

const domainPaths = [{
  name: "effect",
  importNames: effectOfTime,
  message:
    "domain is values in, values out: fibers, queues, state, clocks, random and I/O belong to actors and layers; take `now` as an argument."
}]

const roomOverride = ([folder, room]: [string, Room]) => ({
  files: [`src/${folder}/**`],
  rules: {
    "no-restricted-imports": ["error", {
      ...(folder.startsWith("domain") && { paths: domainPaths }),
      patterns: [never, roomPattern(folder, room)]
    }]
  }
})

const passedIn = (what: string) => (one: { readonly object: string; readonly property: string }) => ({
  ...one,
  message: `${what} passed in${what.startsWith("Time") ? " as `now`" : ""}.`
})

export default {
  plugins: ["eslint", "typescript", "unicorn", "oxc", "import", "vitest"],
  categories: { correctness: "error" },
  options: { reportUnusedDisableDirectives: "error" },
  ignorePatterns: ["node_modules", "data", "coverage", "packages/*/dist", "/release"],
  rules: {
    // Off: these call good code wrong.
    "no-control-regex": "off", // XML, headers and addresses are read by their control characters
    "require-yield": "off", // a generator that only returns is how Effect.fn states a constant program
    "no-unused-vars": "off", // tsc reports them (noUnusedLocals, noUnusedParameters)
    "unicorn/no-new-array": "off", // rings and heaps are allocated at their length
    "unicorn/no-thenable": "off", // `then` is a field's name in schemas; no code awaits such a value

    // On: mistakes that cost an evening.
    "eqeqeq": ["error", "always", { null: "ignore" }], // `== null` is the one coercion that says what it means
    "no-var": "error", // function scope leaks out of blocks
    "prefer-const": "error", // a reader sees at once which names change
    "no-self-compare": "error", // always a typo; code that looks for NaN says so by name
    "no-throw-literal": "error", // a thrown string has no stack
    "no-promise-executor-return": "error", // the value is dropped in silence
    "no-empty": ["error", { allowEmptyCatch: false }], // a swallowed failure says why, in a comment
    "no-unmodified-loop-condition": "error", // a loop over a stranger's input must end
    "preserve-caught-error": "error", // an operator reads the log for the cause
    "oxc/no-accumulating-spread": "error", // quadratic on a stranger's input
    "unicorn/no-array-sort": "error", // sorts the caller's array; toSorted does not
    "unicorn/no-array-reverse": "error", // reverses the caller's array; toReversed does not
    "unicorn/no-array-fill-with-reference-type": "error", // every slot is the same object
    "unicorn/prefer-node-protocol": "error", // a package cannot take a name with `node:`
    "unicorn/no-typeof-undefined": "error", // compare with undefined: the compiler knows the name
    "typescript/no-explicit-any": "error", // `any` turns the compiler off for all that touches it
    "typescript/no-non-null-assertion": "error", // `!` undoes noUncheckedIndexedAccess; handle the missing value
    "typescript/ban-ts-comment": ["error", {
      "ts-expect-error": "allow-with-description",
      "minimumDescriptionLength": 10
    }],
    "typescript/no-require-imports": "error", // sources are ES modules
    "typescript/consistent-type-imports": [
      "error",
      { fixStyle: "separate-type-imports", disallowTypeAnnotations: true }
    ],
    "typescript/no-import-type-side-effects": "error", // `import { type A }` alone stays as a run-time import after stripping
    "import/no-self-import": "error",
    "import/no-cycle": ["error", { ignoreTypes: false }], // a reader can start at the bottom, and moving a file moves no other
    "import/no-default-export": "error", // a name that can be searched for
    "import/extensions": ["error", "always", { ignorePackages: true }], // sources run as they are: no resolver adds one
    "no-console": "error", // output goes through Effect's loggers, which know level, span and format
    "no-restricted-imports": ["error", {
      patterns: [never, { group: ["#test/**"], message: "Nobody imports the tests." }]
    }]
  },
  overrides: [
    {
      // Pure values: values in, values out. No fiber, clock, random or I/O, so that every rule is a plain function to test.
      files: ["src/domain/**"],
      rules: {
        "no-restricted-properties": [
          "error",
          ...time.map(passedIn("Time is")),
          ...chance.map(passedIn("Random values are"))
        ],
        "no-restricted-globals": ["error", ...outsideGlobals, ...timers]
      }
    },
    {
      // Forks, mailboxes, schedules: all that happens in time, and nothing that touches the outside.
      files: ["src/actors/**"],
      rules: {
        "no-restricted-properties": ["error", ...time, ...chance],
        "no-restricted-globals": ["error", ...outsideGlobals, ...timers]
      }
    },
    {
      // Statuses, headers, parameters, frames, stanzas. What they mean is asked of actors.
      files: ["src/http/**", "src/xmpp/**"],
      rules: {
        "no-restricted-properties": [
          "error",
          ...time.filter(({ object }) => object === "Date"),
          ...chance.filter(({ object }) => object === "Math")
        ],
        "no-restricted-globals": ["error", ...outsideGlobals]
      }
    },
    {
      // Sent to browsers, which have no Effect and no TestClock.
      files: ["src/http/pages/elements/**"],
      rules: { "no-restricted-properties": "off", "no-restricted-globals": ["error", "process", "WebSocket"] }
    },
    ...Object.entries(rooms).map(roomOverride),
    {
      // The composition root. It knows every room, by its name.
      files: ["src/*.ts", "src/cli/**"],
      rules: {
        "no-console": "off", // a command's answer goes to standard output
        "no-restricted-imports": ["error", {
          patterns: [
            never,
            {
              regex: "^(\\./|#main/)(domain|actors|http|xmpp|layers)/",
              message: "A room is entered by its own name (`#domain/Topic.ts`)."
            },
            {
              group: ["#scripts/**", "#packages/**", "#test/**"],
              message: "Nobody imports the tests, and no source a script or a published package."
            }
          ]
        }]
      }
    },
    {
      // Published alone, for any runtime: files of the same package, and nothing that a runtime may lack.
      files: ["packages/*/src/**"],
      rules: {
        "no-console": "off", // the program that uses a package may have no logger
        "no-restricted-globals": [
          "error",
          "globalThis",
          "process",
          "Buffer",
          "WebSocket",
          "EventSource",
          "setImmediate"
        ],
        "no-restricted-imports": ["error", {
          patterns: [never, { group: ["**", "!./**", "!../**"], message: publishedAlone }]
        }]
      }
    },
    {
      // The adapters of Node.
      files: nodeAdapters,
      rules: {
        "no-restricted-imports": ["error", {
          patterns: [never, { group: ["**", "!./**", "!../**", "!node:*", "!node:*/**"], message: publishedAlone }]
        }]
      }
    },
    {
      files: ["bench/**", "scripts/**", "*.config.ts"],
      rules: {
        "no-console": "off", // they talk to the person who started them
        "typescript/no-non-null-assertion": "off",
        "import/no-default-export": "off" // tools read the default export of a configuration
      }
    },
    {
      files: ["test/**"],
      rules: {
        "no-console": "off", // child processes of the tests print
        "typescript/no-non-null-assertion": "off", // a missing value is a failed test either way
        "vitest/no-focused-tests": "error", // `.only` would leave the others out, in silence
        "vitest/valid-title": ["error", { ignoreTypeOfTestName: true }], // titles come from tables
        "vitest/no-disabled-tests": "error", // a skipped test argues
        "no-restricted-imports": ["error", {
          paths: [
            {
              name: "vitest",
              importNames: ["expect"],
              message: "`assert` from @effect/vitest: one way to say what is true."
            },
            { name: "@effect/vitest", importNames: ["expect"], message: "`assert`: one way to say what is true." }
          ],
          patterns: [
            { ...never, message: "A room is left by name (`#domain/Topic.ts`, `#test/suites/..`), never by `../`." },
            {
              group: ["node:assert", "node:assert/**", "node:test"],
              message: "`assert`, `it` and `describe` come from @effect/vitest."
            }
          ]
        }]
      }
    }
  ]
}
