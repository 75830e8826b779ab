import { Context } from "effect"

/**
 * Whether the disk has room for resources that only strangers watch, through the open hub.
 *
 * False below the reserve of free disk, and when such resources have used up their bytes together. From then on, only new content that
 * accounts own is stored.
 */
export const DiskRoom = Context.Reference<{
  readonly forStrangers: () => boolean
  /** Counts bytes that were stored for such a resource of a partition. */
  readonly countStrangers?: (partition: number, bytes: number) => void
}>("windhover/domain/ports/DiskRoom", {
  defaultValue: () => ({ forStrangers: () => true })
})
