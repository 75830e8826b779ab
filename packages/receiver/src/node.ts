/** For Node, Bun and Deno: adapters of `node:http` and Express, and a store in files. */
export * from "./FileStore.ts"
export * from "./NodeListener.ts"
