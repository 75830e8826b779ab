/** A module of undici without types of its own: the class that the package exports with the rest of it. */
declare module "undici/lib/dispatcher/client.js" {
  import { Client } from "undici"
  export default Client
}
