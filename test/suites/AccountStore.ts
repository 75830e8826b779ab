import { assert, type Vitest } from "@effect/vitest"
import { Effect, Option, Redacted } from "effect"
import { anonymous, nameOfIdentity, rights, tokenUseMs } from "#domain/Account.ts"
import { AccountStore } from "#domain/ports/AccountStore.ts"
import { at, newAccount, newSubscription, type Stores, unique } from "#test/support/StoreFixture.ts"

/** What every `AccountStore` keeps of its promises. */
export const accountStoreSuite = (it: Vitest.MethodsNonLive<Stores>): void => {
  it.describe("AccountStore", () => {
    accounts(it)
    authenticating(it)
    tokens(it)
  })
}

/** Of `newAccount`. */
const password = Redacted.make("correct horse")

const authenticate = (login: string, secret: Redacted.Redacted) =>
  AccountStore.use((store) => store.authenticate(login, secret))

const accounts = (it: Vitest.MethodsNonLive<Stores>) => {
  it.effect("refuses the credentials of a disabled account, until it is enabled", () =>
    Effect.gen(function*() {
      const store = yield* AccountStore
      const { id, login } = yield* newAccount
      const { secret, token } = yield* store.createToken({ accountId: id, name: "", rights: ["list"] })
      const byPassword = Option.getOrThrow(yield* authenticate(login, password)).credential
      const credentials = [byPassword, `token:${token.id}`]
      assert.strictEqual((yield* store.rightsOf(credentials)).size, 2)
      assert.isTrue(yield* store.update(login, { disabled: true }))
      assert.deepStrictEqual((yield* store.load(id)).pipe(Option.map((one) => one.disabled)), Option.some(true))
      assert.deepStrictEqual(yield* authenticate(login, password), Option.none())
      assert.deepStrictEqual(yield* authenticate(login, secret), Option.none())
      assert.strictEqual((yield* store.rightsOf(credentials)).size, 0)
      yield* store.update(login, { admin: true })
      assert.deepStrictEqual(yield* authenticate(login, secret), Option.none())
      yield* store.update(login, { disabled: false })
      assert.isTrue(Option.isSome(yield* authenticate(login, secret)))
    }))

  it.effect("sets a maximum of subscriptions, and removes it", () =>
    Effect.gen(function*() {
      const store = yield* AccountStore
      const made = yield* newAccount
      yield* store.update(made.login, { maxSubscriptions: 7 })
      yield* store.update(made.login, { admin: false })
      assert.deepStrictEqual(yield* store.find(made.login), Option.some({ ...made, maxSubscriptions: 7 }))
      const caller = Option.getOrThrow(yield* authenticate(made.login, password))
      assert.strictEqual(caller.account.maxSubscriptions, 7)
      yield* store.update(made.login, { maxSubscriptions: null })
      assert.deepStrictEqual(yield* store.find(made.login), Option.some(made))
    }))

  it.effect("adds credits, and takes them back", () =>
    Effect.gen(function*() {
      const store = yield* AccountStore
      const { id, login } = yield* newAccount
      assert.deepStrictEqual(yield* store.addCredits(login, 1_000).pipe(at(5)), Option.some(1_000))
      assert.deepStrictEqual(yield* store.addCredits(login, 5).pipe(at(5)), Option.some(1_005))
      assert.deepStrictEqual(yield* store.addCredits(login, -2_000), Option.some(-995))
      assert.deepStrictEqual(Option.map(yield* store.load(id), ({ credits }) => credits), Option.some(-995))
      assert.deepStrictEqual(yield* store.addCredits(unique("nobody"), 5), Option.none())
    }))

  it.effect("deletes an account without subscriptions, and its tokens", () =>
    Effect.gen(function*() {
      const store = yield* AccountStore
      const { account } = yield* newSubscription()
      assert.strictEqual(yield* store.remove(account.login), "subscribed")
      assert.isTrue(Option.isSome(yield* store.find(account.login)))
      const { id, login } = yield* newAccount
      const { token } = yield* store.createToken({ accountId: id, name: "", rights: ["list"] })
      assert.strictEqual(yield* store.remove(login), "removed")
      assert.deepStrictEqual(yield* store.find(login), Option.none())
      assert.strictEqual((yield* store.rightsOf([`token:${token.id}`])).size, 0)
      assert.strictEqual(yield* store.remove(login), "unknown")
    }))

  it.effect("makes an account, finds and lists it", () =>
    Effect.gen(function*() {
      const store = yield* AccountStore
      const login = unique("ann")
      const made = yield* at(1_700_000_000_123)(store.create(login, password))
      const { id, ...account } = made
      assert.deepStrictEqual(account, { login, credits: 0, createdAt: 1_700_000_000_123 })
      assert.deepStrictEqual(yield* store.find(login), Option.some(made))
      const other = yield* newAccount
      const first = yield* store.list({ after: id - 1, limit: 1 })
      assert.deepStrictEqual(first, { items: [made], next: id })
      assert.deepStrictEqual(yield* store.list({ after: id, limit: 1 }), { items: [other] })
      assert.deepStrictEqual(yield* store.list({ login: login.slice(1), limit: 5 }), { items: [made] })
      assert.deepStrictEqual(yield* store.list({ login: `${login.slice(0, -1)}_`, limit: 5 }), { items: [] })
      assert.deepStrictEqual(yield* store.find(`${login}x`), Option.none())
      assert.deepStrictEqual(yield* store.find("nul\u0000"), Option.none())
    }))

  it.effect("shows the account of the open hub to nobody, and lets nobody be it", () =>
    Effect.gen(function*() {
      const store = yield* AccountStore
      const { id, login } = anonymous.account
      assert.deepStrictEqual(yield* store.find(login), Option.none())
      assert.isFalse((yield* store.list({ after: -1, limit: 1_000 })).items.some((one) => one.id === id))
      assert.strictEqual(yield* store.setPassword(login, password), false)
      assert.deepStrictEqual(yield* authenticate(login, Redacted.make("")), Option.none())
      const issued = store.createToken({ accountId: id, name: "mine", rights })
      assert.strictEqual((yield* Effect.flip(issued)).reason._tag, "Defect")
    }))

  it.effect("keeps a login single, also when it is asked for several times at once", () =>
    Effect.gen(function*() {
      const store = yield* AccountStore
      const login = unique("bob")
      const made = yield* Effect.all(
        Array.from({ length: 5 }, () => Effect.result(store.create(login, password))),
        { concurrency: "unbounded" }
      )
      assert.strictEqual(made.filter(({ _tag }) => _tag === "Success").length, 1)
      const taken = yield* Effect.flip(store.create(login, Redacted.make("another")))
      assert.deepStrictEqual([taken._tag, taken._tag === "LoginTaken" && taken.login], ["LoginTaken", login])
      assert.isTrue(Option.isSome(yield* authenticate(login, password)))
    }))

  it.effect("changes a password, which is noticed at once", () =>
    Effect.gen(function*() {
      const store = yield* AccountStore
      const { login } = yield* newAccount
      assert.isTrue(Option.isSome(yield* authenticate(login, password)))
      assert.strictEqual(yield* store.setPassword(login, Redacted.make("battery")), true)
      assert.deepStrictEqual(yield* authenticate(login, password), Option.none())
      assert.isTrue(Option.isSome(yield* authenticate(login, Redacted.make("battery"))))
      assert.strictEqual(yield* store.setPassword(unique("nobody"), password), false)
    }))

  it.effect("changes what is named, keeps the rest, and finds an account by its JID and its id", () =>
    Effect.gen(function*() {
      const store = yield* AccountStore
      const made = yield* newAccount
      const jid = `${unique("ann")}@example.org`
      assert.strictEqual(yield* store.update(made.login, { jid }), true)
      assert.deepStrictEqual(yield* store.findByJid(jid), Option.some({ ...made, jid }))
      assert.strictEqual(yield* store.update(made.login, { legacyItemNamespace: true }), true)
      const all = { ...made, jid, legacyItemNamespace: true }
      assert.deepStrictEqual(yield* store.find(made.login), Option.some(all))
      assert.deepStrictEqual(yield* store.load(made.id), Option.some(all))
      assert.strictEqual(yield* store.update(made.login, { jid }), true) // its own
      assert.strictEqual(yield* store.update(made.login, { jid: null, legacyItemNamespace: false }), true)
      assert.deepStrictEqual(yield* store.load(made.id), Option.some({ ...made, legacyItemNamespace: false }))
      assert.deepStrictEqual(yield* store.findByJid(jid), Option.none())
      assert.strictEqual(yield* store.update(unique("nobody"), { jid }), false)
      assert.deepStrictEqual(yield* store.findByJid("nul\u0000"), Option.none())
    }))

  it.effect("gives the right admin to the credentials of an operator's account, as long as it is one", () =>
    Effect.gen(function*() {
      const store = yield* AccountStore
      const made = yield* store.create(unique("op"), password, { admin: true })
      assert.deepStrictEqual(yield* store.load(made.id), Option.some({ ...made, admin: true }))
      const { secret } = yield* store.createToken({ accountId: made.id, name: "", rights: ["list", "admin"] })
      const both = Effect.gen(function*() {
        const callers = [yield* authenticate(made.login, password), yield* authenticate(made.login, secret)]
        const names = callers.map((caller) => Option.getOrThrow(caller).credential)
        const granted = yield* store.rightsOf(names)
        const current = names.map((name) => [...granted.get(name) ?? []])
        assert.deepStrictEqual(callers.map((caller) => [...Option.getOrThrow(caller).rights]), current)
        return current
      })
      assert.deepStrictEqual(yield* both, [[...rights, "admin"], ["list", "admin"]])
      assert.strictEqual(yield* store.update(made.login, { admin: false }), true)
      assert.deepStrictEqual(yield* both, [[...rights], ["list"]])
      assert.strictEqual(yield* store.update(made.login, { legacyItemNamespace: true }), true)
      assert.deepStrictEqual(yield* both, [[...rights], ["list"]])
      assert.strictEqual(yield* store.update(made.login, { admin: true }), true)
      assert.deepStrictEqual(yield* both, [[...rights, "admin"], ["list", "admin"]])
    }))

  it.effect("gives a JID to one account only, and changes nothing then", () =>
    Effect.gen(function*() {
      const store = yield* AccountStore
      const [ann, bob] = [yield* newAccount, yield* newAccount]
      const jid = `${unique("ann")}@example.org`
      yield* store.update(ann.login, { jid })
      const taken = yield* Effect.flip(store.update(bob.login, { jid, legacyItemNamespace: true }))
      assert.deepStrictEqual([taken._tag, taken._tag === "JidTaken" && taken.jid], ["JidTaken", jid])
      assert.deepStrictEqual(yield* store.find(bob.login), Option.some(bob))
    }))
}

const authenticating = (it: Vitest.MethodsNonLive<Stores>) => {
  it.effect("lets the password do everything", () =>
    Effect.gen(function*() {
      const account = yield* newAccount
      const caller = Option.getOrThrow(yield* authenticate(account.login, password))
      assert.deepStrictEqual(caller.account, account)
      assert.deepStrictEqual([...caller.rights], [...rights])
      assert.notInclude(caller.credential, "correct")
      // remembered, it is the same
      assert.deepStrictEqual(yield* authenticate(account.login, password), Option.some(caller))
    }))

  it.effect("knows what credentials may do, until they are revoked or changed", () =>
    Effect.gen(function*() {
      const store = yield* AccountStore
      const account = yield* newAccount
      const { secret, token } = yield* store.createToken({ accountId: account.id, name: "t", rights: ["list"] })
      const other = yield* store.createToken({ accountId: account.id, name: "u", rights: ["retrieve"] })
      const nameOf = (given: Redacted.Redacted) =>
        Effect.map(authenticate(account.login, given), (caller) => Option.getOrThrow(caller).credential)
      const names = [yield* nameOf(password), yield* nameOf(secret), yield* nameOf(other.secret)]
      const granted = Effect.map(
        store.rightsOf([...names, "token:2000000000", "hub"]),
        (known) => names.map((name) => [...known.get(name) ?? []])
      )
      assert.strictEqual((yield* store.rightsOf([...names, "token:2000000000", "hub"])).size, 3)
      assert.deepStrictEqual(yield* granted, [[...rights], ["list"], ["retrieve"]])
      yield* store.revokeToken(account.id, token.id)
      yield* store.setPassword(account.login, Redacted.make("another"))
      assert.deepStrictEqual(yield* granted, [[], [], ["retrieve"]])
      assert.notStrictEqual(yield* nameOf(Redacted.make("another")), names[0])
    }))

  it.effect("gives an outside identity the rights of the password, while the account is enabled", () =>
    Effect.gen(function*() {
      const store = yield* AccountStore
      const { id, login } = yield* newAccount
      const names = [nameOfIdentity("proxy", id), nameOfIdentity("provider", id)] as const
      const granted = (asked: ReadonlyArray<string>) =>
        Effect.map(store.rightsOf(asked), (known) => [...known].map(([name, all]) => [name, [...all]]))
      assert.sameDeepMembers(yield* granted(names), names.map((name) => [name, [...rights]]))
      assert.deepStrictEqual(yield* granted([names[1]]), [[names[1], [...rights]]])
      yield* store.setPassword(login, Redacted.make("another"))
      yield* store.update(login, { admin: true })
      assert.deepStrictEqual(yield* granted([names[0]]), [[names[0], [...rights, "admin"]]])
      yield* store.update(login, { disabled: true })
      assert.deepStrictEqual(yield* granted(names), [])
    }))

  it.effect("lets nobody in with what does not fit", () =>
    Effect.gen(function*() {
      const [one, two] = [yield* newAccount, yield* newAccount]
      const store = yield* AccountStore
      const { secret } = yield* store.createToken({ accountId: two.id, name: "t", rights: ["list"] })
      yield* authenticate(one.login, password)
      const tries: ReadonlyArray<readonly [login: string, secret: Redacted.Redacted]> = [
        [one.login, Redacted.make("correct hors")],
        [one.login, Redacted.make("correct horse ")],
        [one.login, Redacted.make("")],
        [one.login, secret],
        [one.login.toUpperCase(), password],
        [unique("nobody"), password],
        ["", password],
        ["\u0000", password]
      ]
      for (const [login, wrong] of tries) {
        assert.deepStrictEqual(yield* authenticate(login, wrong), Option.none(), login)
      }
    }))

  it.effect("answers many at once, each with its own", () =>
    Effect.gen(function*() {
      const [one, other] = [yield* newAccount, yield* newAccount]
      const issued = yield* AccountStore.use((store) =>
        store.createToken({ accountId: other.id, name: "a token", rights: ["list"] })
      )
      const asked = [
        [one.login, password, `account:${one.id}`],
        [one.login, Redacted.make("a guess"), undefined],
        [other.login, password, `account:${other.id}`],
        [unique("nobody"), password, undefined],
        [other.login, issued.secret, `token:${issued.token.id}`],
        [one.login, issued.secret, undefined]
      ] as const
      const answers = yield* Effect.forEach(
        [...asked, ...asked, ...asked],
        ([login, secret]) => authenticate(login, secret),
        { concurrency: "unbounded" }
      )
      assert.deepStrictEqual(
        answers.map((answer) => Option.getOrUndefined(answer)?.credential.split(":").slice(0, 2).join(":")),
        [...asked, ...asked, ...asked].map(([, , credential]) => credential)
      )
    }))
}

const tokens = (it: Vitest.MethodsNonLive<Stores>) => {
  it.effect("makes a token that lets its rights through, and is listed without its secret", () =>
    Effect.gen(function*() {
      const store = yield* AccountStore
      const account = yield* newAccount
      const { secret, token } = yield* at(1_700_000_000_789)(
        store.createToken({ accountId: account.id, name: "ci \u{1f985}", rights: ["list", "xmpp"] })
      )
      const { id, ...made } = token
      assert.deepStrictEqual(made, {
        accountId: account.id,
        name: "ci \u{1f985}",
        rights: ["list", "xmpp"],
        createdAt: 1_700_000_000_789
      })
      assert.match(Redacted.value(secret), /^[A-Za-z0-9_-]{43,}$/)
      const caller = Option.getOrThrow(yield* authenticate(account.login, secret))
      assert.deepStrictEqual([...caller.rights], ["list", "xmpp"])
      assert.deepStrictEqual(caller.account, account)
      assert.notInclude(caller.credential, Redacted.value(secret))
      const other = yield* store.createToken({ accountId: account.id, name: "", rights: [] })
      const listed = (page?: Parameters<typeof store.listTokens>[1]) =>
        Effect.map(store.listTokens(account.id, page), (all) => all.map(({ usedAt: _, ...one }) => one))
      assert.deepStrictEqual(yield* listed(), [token, other.token])
      assert.deepStrictEqual(yield* listed({ limit: 1 }), [token])
      assert.deepStrictEqual(yield* listed({ after: token.id, limit: 1 }), [other.token])
      assert.notStrictEqual(Redacted.value(other.secret), Redacted.value(secret))
      assert.strictEqual(Option.getOrThrow(yield* authenticate(account.login, other.secret)).rights.size, 0)
      assert.isAbove(other.token.id, id)
    }))

  it.effect("notes the use of a token once an hour, and of no other one", () =>
    Effect.gen(function*() {
      const store = yield* AccountStore
      const { id, login } = yield* newAccount
      const { secret } = yield* store.createToken({ accountId: id, name: "used", rights: ["list"] })
      yield* store.createToken({ accountId: id, name: "unused", rights: ["list"] })
      const uses = Effect.map(store.listTokens(id), (all) => all.map(({ usedAt }) => usedAt))
      const useAt = (now: number) => authenticate(login, secret).pipe(at(now))
      /** A store may note a use after the authentication has returned. */
      const untilUsedAt = (expected: number) =>
        Effect.repeat(uses, { until: ([used]) => used === expected, times: 200 })
      assert.deepStrictEqual(yield* uses, [undefined, undefined])
      const first = 1_700_000_000_000
      yield* useAt(first)
      assert.deepStrictEqual(yield* untilUsedAt(first), [first, undefined])
      // a store may remember the caller for a second
      yield* useAt(first + tokenUseMs - 1_000)
      yield* authenticate(login, password).pipe(at(first + 2 * tokenUseMs))
      assert.deepStrictEqual(yield* uses, [first, undefined])
      yield* useAt(first + tokenUseMs)
      assert.deepStrictEqual(yield* untilUsedAt(first + tokenUseMs), [first + tokenUseMs, undefined])
    }))

  it.effect("takes a preset, and gives it the new name and rights when the account has it already", () =>
    Effect.gen(function*() {
      const store = yield* AccountStore
      const [one, two] = [yield* newAccount, yield* newAccount]
      const preset = Redacted.make(unique("preset"))
      const first = yield* store.createToken({ accountId: one.id, name: "a", rights: ["list"], preset })
      assert.strictEqual(Redacted.value(first.secret), Redacted.value(preset))
      const again = yield* store.createToken({ accountId: one.id, name: "b", rights: ["publish"], preset })
      assert.deepStrictEqual(again.token, { ...first.token, name: "b", rights: ["publish"] })
      assert.deepStrictEqual(yield* store.listTokens(one.id), [again.token])
      const stolen = yield* Effect.flip(store.createToken({ accountId: two.id, name: "c", rights: ["list"], preset }))
      assert.strictEqual(stolen.reason._tag, "Defect")
      assert.deepStrictEqual(yield* store.listTokens(one.id), [again.token])
      assert.deepStrictEqual(yield* authenticate(two.login, preset), Option.none())
    }))

  it.effect("makes none for an account that is not there", () =>
    Effect.gen(function*() {
      const store = yield* AccountStore
      const refused = yield* Effect.flip(store.createToken({ accountId: 2 ** 30, name: "", rights: [] }))
      assert.strictEqual(refused.reason._tag, "Defect")
    }))

  it.effect("revokes a token of this account, and of no other", () =>
    Effect.gen(function*() {
      const store = yield* AccountStore
      const [one, two] = [yield* newAccount, yield* newAccount]
      const { secret, token } = yield* store.createToken({ accountId: one.id, name: "", rights: ["list"] })
      assert.strictEqual(yield* store.revokeToken(two.id, token.id), false)
      assert.isTrue(Option.isSome(yield* authenticate(one.login, secret)))
      assert.strictEqual(yield* store.revokeToken(one.id, token.id), true)
      assert.deepStrictEqual(yield* authenticate(one.login, secret), Option.none())
      assert.deepStrictEqual(yield* store.listTokens(one.id), [])
      assert.strictEqual(yield* store.revokeToken(one.id, token.id), false)
    }))
}
