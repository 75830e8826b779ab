import { assert, describe, it } from "@effect/vitest"
import { closeStatements, rollback } from "#layers/postgres/embedded/Frames.ts"
import { Sessions } from "#layers/postgres/embedded/Sessions.ts"

const message = (type: string, body: string) => {
  const head = Buffer.alloc(5)
  head.write(type, "latin1")
  head.writeInt32BE(body.length + 4, 1)
  return Buffer.concat([head, Buffer.from(body, "latin1")])
}

const query = (text: string) => message("Q", `${text}\0`)
const prepare = (name: string) => Buffer.concat([message("P", `${name}\0select 1\0\0\0`), message("S", "")])
const startup = Buffer.from("\0\0\0\x09\0\x03\0\0\0", "latin1")

/** Sessions over a backend that notes what it runs: `begin` opens a transaction, `commit` and `rollback` end it, `notify` tells all. */
const make = () => {
  const ran: Array<string> = []
  const sent: Array<readonly [id: number, text: string]> = []
  let now = 0
  let open = false
  const execute = (cycle: Uint8Array): Uint8Array<ArrayBuffer> => {
    const text = Buffer.from(cycle).toString("latin1")
    const words = cycle[0] === 0x51 ? text.slice(5, -1) : text
    ran.push(words)
    if (words === "begin") open = true
    if (/^(commit|rollback)$/i.test(words)) open = false
    const parts = [message("C", words), message("Z", open ? "T" : "I")]
    if (words === "notify") parts.unshift(message("A", "news"))
    return Uint8Array.from(Buffer.concat(parts))
  }
  const answers: Array<() => void> = []
  const checkpoints: Array<(isMade: boolean) => void> = []
  let isSynced = true
  const sessions = new Sessions(
    {
      execute,
      whenSynced: (answer) => isSynced ? answer() : answers.push(answer),
      checkpoint: () => {
        ran.push("checkpoint")
        return new Promise((end) => {
          checkpoints.push(end)
        })
      }
    },
    (id, bytes) => sent.push([id, bytes === undefined ? "closed" : Buffer.from(bytes).toString("latin1")]),
    () => now
  )
  const connect = (id: number) => {
    sessions.open(id)
    sessions.receive(id, startup)
  }
  connect(1)
  connect(2)
  ran.length = 0
  sent.length = 0
  const sync = () => {
    isSynced = true
    for (const answer of answers.splice(0)) answer()
  }
  return {
    sessions,
    ran,
    sent,
    checkpoints,
    connect,
    pass: (ms: number) => now += ms,
    commit: () => isSynced = false,
    sync
  }
}

describe("Sessions", () => {
  it("runs a checkpoint between two transactions, and other cycles before its end", async () => {
    const { checkpoints, ran, sent, sessions } = make()
    sessions.receive(1, query("begin"))
    const ended = sessions.checkpoint()
    sessions.receive(2, query("a"))
    assert.deepStrictEqual(ran, ["begin"])
    sessions.receive(1, query("commit"))
    assert.deepStrictEqual(ran, ["begin", "commit", "checkpoint", "a"])
    assert.deepStrictEqual(sent.map(([id]) => id), [1, 1, 2])
    checkpoints[0]?.(true)
    assert.isTrue(await ended)
    const failed = sessions.checkpoint()
    checkpoints[1]?.(false)
    assert.isFalse(await failed)
  })

  it("runs only the owner's cycles during a transaction, and keeps the order of the others", () => {
    const { sessions, ran } = make()
    sessions.receive(1, query("begin"))
    sessions.receive(2, query("a"))
    sessions.receive(1, query("b"))
    sessions.receive(2, query("c"))
    assert.deepStrictEqual(ran, ["begin", "b"])
    sessions.receive(1, query("commit"))
    assert.deepStrictEqual(ran, ["begin", "b", "commit", "a", "c"])
  })

  it("sends answers, notifications and the end of a connection when all commits are on disk", () => {
    const { commit, sent, sessions, sync } = make()
    commit()
    sessions.receive(1, query("insert"))
    sessions.receive(2, query("notify"))
    sessions.receive(2, message("X", ""))
    assert.deepStrictEqual(sent, [])
    sync()
    assert.deepStrictEqual(sent.map(([id, text]) => `${id} ${text[0]}`), ["1 C", "1 A", "2 A", "2 C", "2 c"])
  })

  it("answers only the sender", () => {
    const { sessions, sent } = make()
    sessions.receive(2, query("a"))
    assert.deepStrictEqual(sent, [[2, "C\0\0\0\x05aZ\0\0\0\x05I"]])
  })

  it("sends notifications to all connections", () => {
    const { sessions, sent } = make()
    sessions.receive(2, query("notify"))
    assert.deepStrictEqual(sent, [
      [1, "A\0\0\0\x08news"],
      [2, "A\0\0\0\x08news"],
      [2, "C\0\0\0\x0anotifyZ\0\0\0\x05I"]
    ])
  })

  it("rolls back the transaction of a closed connection and drops its queued cycles", () => {
    const { sessions, ran } = make()
    sessions.receive(1, query("begin"))
    sessions.receive(2, query("a"))
    sessions.close(2)
    sessions.close(1)
    assert.deepStrictEqual(ran, ["begin", "ROLLBACK"])
  })

  it("removes the prepared statements of a closed connection", () => {
    const { sessions, ran } = make()
    sessions.receive(1, prepare("one"))
    sessions.receive(1, prepare("two"))
    sessions.receive(1, closeStatements(["one"]))
    ran.length = 0
    sessions.receive(1, message("X", ""))
    assert.deepStrictEqual(ran, [Buffer.from(closeStatements(["two"])).toString("latin1")])
  })

  it("takes the planner's parameters of a connection before its cycle, and changes these as rarely as possible", () => {
    const { sessions, ran } = make()
    sessions.open(3)
    const parameters = Buffer.from("\0\x03\0\0plan_cache_mode\0force_'generic'_plan\0jit\0off\0\0", "latin1")
    const head = Buffer.alloc(4)
    head.writeInt32BE(parameters.length + 4)
    sessions.receive(3, Buffer.concat([head, parameters]))
    ran.length = 0
    for (const [id, text] of [[3, "a"], [3, "b"], [1, "c"], [2, "begin"], [3, "d"], [2, "commit"]] as const) {
      sessions.receive(id, query(text))
    }
    const set = (mode: string) => `SET plan_cache_mode TO '${mode}'; SET enable_seqscan TO 'on'`
    const generic = set("force_''generic''_plan")
    assert.deepStrictEqual(ran, ["a", "b", set("auto"), "c", "begin", "commit", generic, "d"])
  })

  it("ends an idle transaction only when others wait", () => {
    const { sessions, ran, sent, pass } = make()
    sessions.receive(1, query("begin"))
    pass(1000)
    sessions.expire(1000)
    assert.deepStrictEqual(ran, ["begin"])
    sessions.receive(2, query("a"))
    sessions.receive(1, query("b"))
    pass(999)
    sessions.expire(1000)
    assert.deepStrictEqual(ran, ["begin", "b"])
    pass(1)
    sent.length = 0
    sessions.expire(1000)
    assert.deepStrictEqual(ran, ["begin", "b", Buffer.from(rollback()).toString("latin1", 5, 13), "a"])
    assert.deepStrictEqual(sent, [[1, "closed"], [2, "C\0\0\0\x05aZ\0\0\0\x05I"]])
  })

  it("declines encryption and closes a request to cancel", () => {
    const { sessions, sent } = make()
    sessions.open(3)
    sessions.receive(3, Buffer.from("\0\0\0\x08\x04\xd2\x16\x2f", "latin1"))
    sessions.receive(3, Buffer.from("\0\0\0\x10\x04\xd2\x16\x2e12345678", "latin1"))
    assert.deepStrictEqual(sent, [[3, "N"], [3, "closed"]])
  })
})
