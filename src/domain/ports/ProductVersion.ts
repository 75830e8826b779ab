import { Context } from "effect"

/** Version of the product, as package.json names it; `0.0.0` unless the composition root provides one. */
export const ProductVersion = Context.Reference<string>("windhover/domain/ports/ProductVersion", {
  defaultValue: () => "0.0.0"
})
