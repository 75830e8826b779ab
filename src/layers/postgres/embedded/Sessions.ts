import { closeStatements, type Frame, Frames, rollback, setParameters } from "./Frames.ts"

/** Runs one cycle of the wire protocol and returns all answers of the server. */
export type Execute = (cycle: Uint8Array) => Uint8Array<ArrayBuffer>

export interface SharedBackend {
  readonly execute: Execute
  /** Calls `answer` once all commits so far are on disk. No answer of `execute` may be sent before. */
  readonly whenSynced: (answer: () => void) => void
  /** Runs a checkpoint. The promise ends when it is on disk, and other cycles may run before. It is false if PostgreSQL made none. */
  readonly checkpoint: () => Promise<boolean>
}

interface Connection {
  readonly id: number
  readonly frames: Frames
  /** Its prepared statements in the backend. */
  readonly statements: Set<string>
  /** Cycle that sets `plannerDefaults`, or the values of its startup packet, in the shared session. */
  planner: Uint8Array
}

interface Cycle {
  /** Undefined for housekeeping without a receiver. */
  readonly connection: Connection | undefined
  readonly bytes: Uint8Array
}

interface QueuedCheckpoint {
  readonly connection?: undefined
  readonly end: (isMade: boolean) => void
}

/**
 * Shares the single session of one backend between many connections.
 *
 * Cycles run one after the other in order of arrival. While a transaction is open, only cycles of its connection run.
 * A closed connection rolls back its transaction and removes its prepared statements. Each answer waits until all commits are on disk.
 *
 * Of the startup parameters, those of the planner are honoured: the session takes the values of a connection before its cycle.
 */
export class Sessions {
  readonly #connections = new Map<number, Connection>()
  #queue: Array<Cycle | QueuedCheckpoint> = []
  #owner: Connection | undefined
  #ownerSince = 0
  #planner = defaultPlanner
  readonly #backend: SharedBackend
  /** Receives bytes with a buffer of their own, or `undefined` when the backend closes the connection. */
  readonly #send: (id: number, bytes: Uint8Array<ArrayBuffer> | undefined) => void
  readonly #now: () => number

  constructor(
    backend: SharedBackend,
    send: (id: number, bytes: Uint8Array<ArrayBuffer> | undefined) => void,
    now: () => number = () => performance.now()
  ) {
    this.#backend = backend
    this.#send = (id, bytes) => backend.whenSynced(() => send(id, bytes))
    this.#now = now
  }

  open(id: number): void {
    this.#connections.set(id, { id, frames: new Frames(), statements: new Set(), planner: defaultPlanner })
  }

  receive(id: number, chunk: Uint8Array): void {
    const connection = this.#connections.get(id)
    if (connection === undefined) return
    for (const frame of connection.frames.push(chunk)) this.#take(connection, frame)
    this.#pump()
  }

  /** The client closed the connection. */
  close(id: number): void {
    const connection = this.#connections.get(id)
    if (connection !== undefined) this.#drop(connection)
    this.#pump()
  }

  /** Runs a checkpoint between two transactions. The promise is false if PostgreSQL made none. */
  checkpoint(): Promise<boolean> {
    return new Promise((end) => {
      this.#queue.push({ end })
      this.#pump()
    })
  }

  /** Ends the open transaction if its client was idle for `maxIdleMs` while other connections wait. */
  expire(maxIdleMs: number): void {
    if (this.#owner === undefined || this.#queue.length === 0 || this.#now() - this.#ownerSince < maxIdleMs) return
    const { id } = this.#owner
    this.#drop(this.#owner)
    this.#send(id, undefined)
    this.#pump()
  }

  #take(connection: Connection, frame: Frame): void {
    switch (frame._tag) {
      case "EncryptionRequest":
        return this.#send(connection.id, Uint8Array.of(refusal))
      case "Startup":
        connection.planner = plannerOf(frame.parameters)
        this.#queue.push({ connection, bytes: frame.bytes })
        return
      case "Cycle":
        for (const name of frame.parsed) if (name !== "") connection.statements.add(name)
        for (const name of frame.closed) connection.statements.delete(name)
        this.#queue.push({ connection, bytes: frame.bytes })
        return
      case "CancelRequest": // a running statement cannot be cancelled; the closed connection is the answer
      case "Terminate":
        this.#drop(connection)
        return this.#send(connection.id, undefined)
    }
  }

  #drop(connection: Connection): void {
    this.#connections.delete(connection.id)
    this.#queue = this.#queue.filter((cycle) => cycle.connection !== connection)
    if (this.#owner === connection) {
      this.#backend.execute(rollback())
      this.#owner = undefined
    }
    if (connection.statements.size > 0) {
      this.#queue.push({ connection: undefined, bytes: closeStatements(connection.statements) })
    }
  }

  #pump(): void {
    for (let next = this.#next(); next !== undefined; next = this.#next()) {
      if ("end" in next) {
        void this.#backend.checkpoint().then(next.end)
        continue
      }
      if (next.connection !== undefined) this.#adoptPlanner(next.connection)
      const isIdle = this.#answer(next.connection, this.#backend.execute(next.bytes))
      this.#owner = isIdle ? undefined : next.connection
      if (!isIdle) this.#ownerSince = this.#now()
    }
  }

  /** Cycles of the same kind of connection mostly follow one another, so that changes are rare. */
  #adoptPlanner({ planner }: Connection): void {
    if (planner === this.#planner) return
    this.#backend.execute(planner)
    this.#planner = planner
  }

  #next(): Cycle | QueuedCheckpoint | undefined {
    if (this.#owner === undefined) return this.#queue.shift()
    const at = this.#queue.findIndex((cycle) => cycle.connection === this.#owner)
    return at < 0 ? undefined : this.#queue.splice(at, 1)[0]
  }

  /** Forwards an answer, and notifications to all connections. Returns true when the backend is outside of a transaction. */
  #answer(to: Connection | undefined, answer: Uint8Array<ArrayBuffer>): boolean {
    const view = new DataView(answer.buffer, answer.byteOffset, answer.byteLength)
    let isIdle = false
    let sent = 0
    for (let at = 0; at + 5 <= answer.length;) {
      const end = at + 1 + view.getInt32(at + 1)
      if (answer[at] === notificationResponse) {
        this.#forward(to, answer.subarray(sent, at))
        for (const connection of this.#connections.values()) this.#send(connection.id, answer.slice(at, end))
        sent = end
      } else if (answer[at] === readyForQuery) isIdle = answer[at + 5] === idleStatus
      at = end
    }
    this.#forward(to, answer.subarray(sent))
    return isIdle
  }

  #forward(to: Connection | undefined, bytes: Uint8Array<ArrayBuffer>): void {
    if (to !== undefined && bytes.length > 0) {
      this.#send(to.id, bytes.length === bytes.buffer.byteLength ? bytes : bytes.slice())
    }
  }
}

/** The answer to a request for encryption: a thread has no wire to protect. */
const refusal = 0x4e // N

/** Parameters of the planner that a connection may set by its startup packet, with the values of all other connections. */
const plannerDefaults = { plan_cache_mode: "auto", enable_seqscan: "on" }

/** The same cycle for the same values, so that two planners are compared by identity. */
const plannerOf = (startup: ReadonlyMap<string, string>): Uint8Array => {
  const values = Object.entries(plannerDefaults).map(([name, value]) => [name, startup.get(name) ?? value] as const)
  const key = JSON.stringify(values)
  let planner = planners.get(key)
  if (planner === undefined) planners.set(key, planner = setParameters(values))
  return planner
}

const planners = new Map<string, Uint8Array>()
const defaultPlanner = plannerOf(new Map())

const notificationResponse = 0x41 // A
const readyForQuery = 0x5a // Z
const idleStatus = 0x49 // I
