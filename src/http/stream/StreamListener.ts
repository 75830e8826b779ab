import type { Listener } from "#actors/stream/Listeners.ts"
import type { SenderIdentity } from "#domain/delivery/Delivery.ts"
import type { Notification } from "#domain/delivery/Notification.ts"
import type { NumberedNotification } from "#domain/ports/NotificationLog.ts"
import type { Format } from "#domain/Subscription.ts"
import * as Cursor from "./Cursor.ts"
import { type Frame, makeFrame } from "./Frame.ts"
import * as Framing from "./Framing.ts"
import type { StreamWriter } from "./StreamWriter.ts"

/** The content that a stream was opened for. */
export interface StreamContent {
  /** Topics by resource id, as the subscriber wrote them. */
  readonly topics: ReadonlyMap<number, string>
  readonly format: Format
  readonly framing: Framing.Framing
  /** Sequence of the last written notification, by resource id. */
  readonly cursors: Map<number, number>
}

/** Writes each notification to the stream. */
export class StreamListener implements Listener {
  readonly cursors: Map<number, number>
  readonly #content: StreamContent
  readonly #writer: StreamWriter
  readonly #sender: SenderIdentity

  constructor(content: StreamContent, writer: StreamWriter, sender: SenderIdentity) {
    this.cursors = content.cursors
    this.#content = content
    this.#writer = writer
    this.#sender = sender
  }

  take(numbered: NumberedNotification): boolean {
    const hasId = this.cursors.size === 1
    const frame = frameNotification(numbered, this.#content, hasId, this.#sender)
    if (frame === undefined) {
      this.#writer.end() // the resource is no feed any more; the client's next request gets the reason
      return false
    }
    if (hasId || this.#content.framing !== "events") return this.#writer.write(frame)
    this.#writer.write(makeFrame(Framing.idField(Cursor.format(this.cursors))))
    return this.#writer.write(frame)
  }

  missed(_: number, count: number): void {
    if (this.#content.framing === "events") this.#writer.write(makeFrame(frameGap(count, this.cursors)))
    else this.#writer.end() // other framings cannot express a gap; the client's next request gets the stored entries
  }

  fail(): void {
    this.#writer.end()
  }
}

/** A frame of a notification, and the values that it was rendered for. */
interface SharedFrame {
  readonly topic: string
  readonly framing: Framing.Framing
  readonly format: Format
  readonly hasId: boolean
  /** Undefined for a notification that a stream cannot carry. */
  readonly frame: Frame | undefined
}

/** Frames that listeners with the same topic, framing and format share. `last` is compared first, because it fits nearly always. */
interface SharedFrames {
  last: SharedFrame
  readonly byKey: Map<string, SharedFrame>
  /** Bytes of the frames and keys in the map. */
  bytes: number
}

/** Bytes of the frames that a notification keeps. A client chooses the spelling of its topic, and so the number of frames. */
const maxSharedBytes = 16 * 1024 * 1024

/** The frames of a notification, as long as the notification lives. */
const framesByNotification = new WeakMap<Notification, SharedFrames>()

const frameNotification = (
  { notification, sequence }: NumberedNotification,
  { format, framing, topics }: StreamContent,
  hasId: boolean,
  sender: SenderIdentity
): Frame | undefined => {
  const topic = topics.get(notification.resourceId) ?? ""
  const shared = framesByNotification.get(notification)
  const last = shared?.last
  if (last?.topic === topic && last.framing === framing && last.format === format && last.hasId === hasId) {
    return last.frame
  }
  const key = `${framing} ${format} ${hasId} ${topic}`
  const found = shared?.byKey.get(key)
  if (shared !== undefined && found !== undefined) {
    shared.last = found
    return found.frame
  }
  const body = Framing.renderNotification(notification, topic, format, sender)
  const bytes = body === undefined
    ? undefined
    : Framing.frameDocument(framing, body, "notification", hasId ? String(sequence) : undefined)
  const made: SharedFrame = { topic, framing, format, hasId, frame: bytes === undefined ? undefined : makeFrame(bytes) }
  const size = key.length + (made.frame?.chunk.length ?? 0)
  if (shared === undefined) {
    framesByNotification.set(notification, { last: made, byKey: new Map([[key, made]]), bytes: size })
    return made.frame
  }
  if (shared.bytes + size > maxSharedBytes) {
    shared.byKey.clear()
    shared.bytes = 0
  }
  shared.last = made
  shared.byKey.set(key, made)
  shared.bytes += size
  return made.frame
}

/** An event that tells a client of `missed` lost notifications; null when their number is unknown. */
export const frameGap = (missed: number | null, cursors: ReadonlyMap<number, number>): Buffer =>
  Framing.frameDocument("events", JSON.stringify({ missed, message: gapMessage }), "gap", Cursor.format(cursors))

const gapMessage =
  "Notifications after your last event are no longer kept; hub.mode=retrieve returns the stored entries."
