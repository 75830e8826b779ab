import { Context } from "effect"

/**
 * Whether the disk has room for resources that only strangers watch, through the open hub.
 *
 * False below the reserve of free disk: from then on, only new content that accounts own is stored.
 */
export const DiskRoom = Context.Reference<{ readonly forStrangers: () => boolean }>("windhover/domain/ports/DiskRoom", {
  defaultValue: () => ({ forStrangers: () => true })
})
