import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import type { Page } from "playwright-core"
import { available, browser, checkAccessibility, openTab, picture, widths } from "#test/support/Browser.ts"
import { temporaryDirectory } from "#test/support/Databases.ts"
import { publisher } from "#test/support/Publisher.ts"
import { checkNothingReported, reportOnly } from "#test/support/ReportOnly.ts"
import { patience, start, token } from "#test/support/Service.ts"

/** Moves the focus with Tab to the element, as a person with a keyboard does. */
const focus = async (page: Page, selector: string): Promise<void> => {
  for (let press = 0; press < 120; press++) {
    if (await page.evaluate(`document.activeElement?.matches(${JSON.stringify(selector)}) === true`)) return
    await page.keyboard.press("Tab")
  }
  assert.fail(`the keyboard does not reach ${selector} on ${page.url()}`)
}

const press = async (page: Page, selector: string): Promise<void> => {
  await focus(page, selector)
  await page.keyboard.press("Enter")
}

const type = async (page: Page, selector: string, text: string): Promise<void> => {
  await focus(page, selector)
  await page.keyboard.press("ControlOrMeta+A")
  await page.keyboard.type(text)
}

const signIn = async (page: Page, url: string): Promise<void> => {
  await page.goto(`${url}/dashboard`)
  await type(page, "input[name=login]", "admin")
  await type(page, "input[name=secret]", token)
  await page.keyboard.press("Enter")
  await page.waitForSelector("h1:text-is('Overview')")
}

type Look = (state: string) => Effect.Effect<void>

/** Reloads until the page has the text. */
const untilText = async (page: Page, text: string): Promise<void> => {
  for (let look = 0; look < 150; look++) {
    if ((await page.locator("main").innerText()).includes(text)) return
    await page.waitForTimeout(200)
    await page.reload()
  }
  assert.fail(`${page.url()} does not show "${text}": ${await page.locator("main").innerText()}`)
}

const variants = [
  { width: widths[0], dark: false, javaScript: true },
  { width: widths[1], dark: true, javaScript: true },
  { width: widths[0], dark: true, javaScript: false },
  { width: widths[1], dark: false, javaScript: false }
]

describe.skipIf(!available)("the dashboard", () => {
  it.live(
    "leads from a page's URL to deliveries, shows why a callback fails, and recovers, by keyboard alone",
    () =>
      Effect.gen(function*() {
        const world = yield* publisher
        world.publish("A kestrel over the field")
        const proxy = yield* reportOnly((yield* start({ WINDHOVER_DATA_DIR: yield* temporaryDirectory })).url)
        const { url } = proxy
        const chromium = yield* browser
        for (const { dark, javaScript, width } of variants) {
          const name = `${width}${dark ? "-dark" : ""}${javaScript ? "" : "-plain"}`
          const { errors, page } = yield* openTab(chromium, { dark, javaScript, width })
          const look = Effect.fnUntraced(function*(state: string) {
            yield* checkAccessibility(page, javaScript)
            yield* picture(page, `${state}-${name}`)
          })
          const callback = `${world.callback}/${name}`
          const run = (step: () => Promise<unknown>) => Effect.promise(step)
          yield* run(() => signIn(page, url))
          yield* look("overview-empty")

          // subscribe a feed by its page's URL
          yield* run(async () => {
            await page.goto(`${url}/dashboard/subscriptions/new`)
            await type(page, "input[name=url]", world.url)
            await page.keyboard.press("Enter")
            await page.waitForSelector("h2:has-text('The page names a feed')")
          })
          yield* look("new-page")
          yield* run(async () => {
            await press(page, "a.button.small.primary")
            await page.waitForSelector("h2:has-text('Where to')")
            await type(page, "input[name=callback]", callback)
          })
          yield* look("new-feed")
          yield* run(async () => {
            await press(page, ".card button.primary")
            await page.waitForSelector("text=The callback accepted the test notification (204")
          })
          assert.match(world.received.at(-1) ?? "", /"items":\[\{"id":"(?:windhover-test-entry|e\d)"/)
          yield* look("subscribed")
          const subscription = page.url()
          yield* run(() => untilText(page, "silent")) // the first fetch is no news

          // see the live delivery
          if (javaScript) {
            yield* run(async () => {
              await page.goto(`${url}/dashboard`)
              await page.waitForSelector(".live-state:text-is('Live')")
            })
            world.publish(`A harrier for ${name}`)
            yield* run(() => page.waitForSelector(`live-feed li:has-text('Delivered'):has-text('${name}')`))
          } else {
            world.publish(`A harrier for ${name}`)
            yield* run(() => page.goto(subscription))
            yield* run(() => untilText(page, "delivered 204"))
          }
          yield* look("overview")

          // break the callback, and see it fail
          world.webhook = { status: 401, body: "<script>alert(1)</script> who are you?" }
          world.publish(`A buzzard for ${name}`)
          yield* run(async () => {
            await page.goto(subscription)
            await untilText(page, "callback fails")
            await untilText(page, "The callback requires a login")
          })
          yield* look("failing")
          yield* run(async () => {
            await page.goto(`${url}/dashboard/subscriptions`)
            await untilText(page, "callback fails")
          })
          yield* look("subscriptions")
          yield* run(async () => {
            await page.goto(subscription)
            await press(page, "td a[href*='/dashboard/deliveries/']")
            await page.waitForSelector("h1:text-is('Attempt')")
            assert.include(await page.locator("main").innerText(), "<script>alert(1)</script> who are you?")
          })
          yield* look("attempt")

          // mend the callback, and recover
          world.webhook = { status: 204, body: "" }
          yield* run(async () => {
            await page.goto(subscription)
            assert.strictEqual(await page.locator("form[action$='/resume'] button").innerText(), "Try now")
            await press(page, "form[action$='/resume'] button")
            await page.waitForSelector("text=Resumed.")
            await untilText(page, "delivering")
          })
          assert.include(world.received.at(-1) ?? "", `A buzzard for ${name}`)
          yield* look("recovered")
          yield* run(async () => {
            await press(page, "a[href$='/unsubscribe']")
            await page.waitForSelector("text=No further news is sent.")
          })
          yield* look("unsubscribe")
          yield* run(async () => {
            await press(page, "form[action$='/unsubscribe'] button")
            await page.waitForSelector("text=has ended")
          })
          assert.deepStrictEqual(errors, [])
          yield* checkNothingReported(page, proxy)
        }
      }).pipe(Effect.scoped),
    patience
  )

  it.live(
    "recovers dropped deliveries once the callback works again, by keyboard alone",
    () =>
      Effect.gen(function*() {
        const world = yield* publisher
        world.publish("A kestrel over the field")
        const service = yield* start({ WINDHOVER_DATA_DIR: yield* temporaryDirectory })
        const nameOf = ({ dark, javaScript, width }: typeof variants[number]) =>
          `${width}${dark ? "-dark" : ""}${javaScript ? "" : "-plain"}`
        for (const variant of variants) {
          yield* service.call({
            "hub.mode": "subscribe",
            "hub.topic": `${world.url}/feed.xml`,
            "hub.callback": `${world.callback}/${nameOf(variant)}`,
            "hub.retry": "short",
            retrieve: "true"
          })
        }

        // break the callbacks for longer than their 30 s of retries
        world.webhook = { status: 503, body: "" }
        world.publish("A merlin at dusk")
        const chromium = yield* browser
        const tabs: Array<{ readonly page: Page; readonly errors: ReadonlyArray<string>; readonly look: Look }> = []
        for (const [i, variant] of variants.entries()) {
          const { errors, page } = yield* openTab(chromium, variant)
          const look: Look = Effect.fnUntraced(function*(state) {
            if (variant.javaScript) yield* checkAccessibility(page)
            yield* picture(page, `${state}-${nameOf(variant)}`)
          })
          yield* Effect.promise(async () => {
            await signIn(page, service.url)
            await page.goto(`${service.url}/dashboard/subscriptions/${i + 1}`)
            await untilText(page, "Dropped\n1")
            assert.include(
              await page.locator(".diagnosis").innerText(),
              "The callback failed. Its own log has the reason."
            )
          })
          yield* look("dropped")
          tabs.push({ page, errors, look })
        }

        // mend them, and recover
        world.webhook = { status: 204, body: "" }
        const before = world.received.length
        for (const { errors, look, page } of tabs) {
          yield* Effect.promise(async () => {
            await press(page, "form[action$='/recover'] button")
            await page.waitForSelector("text=1 dropped notification waits to be sent again.")
            await untilText(page, "delivering")
            assert.include(await page.locator(".facts").innerText(), "Dropped\n0")
            assert.strictEqual(await page.locator("form[action$='/recover']").count(), 0)
          })
          yield* look("recovered-dropped")
          assert.deepStrictEqual(errors, [])
        }
        const recovered = world.received.slice(before)
        assert.deepStrictEqual(recovered.map((body) => body.includes("A merlin at dusk")), variants.map(() => true))
      }).pipe(Effect.scoped),
    patience
  )

  it.live(
    "shows resources with their entries, versions and differences, and tries selectors",
    () =>
      Effect.gen(function*() {
        const world = yield* publisher
        world.publish(
          "<b>A hobby</b> \u202egnitsaf",
          `<p onclick="alert(1)">Safe <script>alert(1)</script><img src="${world.url}/pixel.gif" alt="a bird"></p>`
        )
        const service = yield* start({ WINDHOVER_DATA_DIR: yield* temporaryDirectory })
        const proxy = yield* reportOnly(service.url)
        const { url } = proxy
        const follow = (topic: string) =>
          service.call({
            "hub.mode": "subscribe",
            "hub.topic": topic,
            "hub.callback": `${service.url}/dev/null`,
            retrieve: "true"
          })
        yield* follow(`${world.url}/feed.xml`)
        yield* follow(`${world.url}/shop#.price`)
        const chromium = yield* browser
        for (const { dark, width } of variants.slice(0, 2)) {
          const { errors, page } = yield* openTab(chromium, { dark, width })
          const requested: Array<string> = []
          page.on("request", (request) => requested.push(request.url()))
          const name = `${width}${dark ? "-dark" : ""}`
          const look = Effect.fnUntraced(function*(state: string) {
            yield* checkAccessibility(page)
            yield* picture(page, `${state}-${name}`)
          })
          const run = (step: () => Promise<unknown>) => Effect.promise(step)
          yield* run(() => signIn(page, url))
          yield* run(async () => {
            await page.goto(`${url}/dashboard/resources`)
            await page.waitForSelector("text=Birds of prey")
          })
          yield* look("resources")
          yield* run(async () => {
            await press(page, "td a:has-text('Birds of prey')".replace(":has-text('Birds of prey')", "[href$='/1']"))
            await page.waitForSelector("h2:text-is('Newest entries')")
          })
          yield* look("resource")
          yield* run(async () => {
            await press(page, "td a[href*='/entry?']")
            await page.waitForSelector(".foreign")
            const text = await page.locator("main").innerText()
            assert.include(text, "Safe")
            assert.include(text, "[Image: a bird]")
            assert.notInclude(text, "\u202e")
            assert.strictEqual(await page.locator(".foreign script, .foreign img, .foreign [onclick]").count(), 0)
          })
          yield* look("entry")
          yield* run(async () => {
            await page.goto(`${url}/dashboard/resources/1/raw`)
            await page.waitForSelector("text=The document as its server sends it now.")
          })
          yield* look("raw")
          world.setPrice(`${width}.00`)
          yield* run(async () => {
            await page.goto(`${url}/dashboard/resources/2`)
            await press(page, "form[action$='/fetch'] button")
            await page.waitForSelector("text=Fetched with status 200.")
            await press(page, "td a[href*='/versions/']")
            await page.waitForSelector(".difference .added")
            assert.include(await page.locator(".difference .added").innerText(), `€ ${width}.00`)
          })
          yield* look("version")
          yield* run(async () => {
            await page.goto(`${url}/dashboard/subscriptions/new?url=${encodeURIComponent(`${world.url}/shop`)}`)
            await page.waitForSelector(".outline li")
            await type(page, "input[name=path]", ".price")
            await page.waitForSelector(".matches:text-is('The path selects 1 place.')")
            assert.include(await page.locator(".pushed code").innerText(), "€")
            assert.strictEqual(await page.locator(".outline .chosen").count(), 1)
            assert.strictEqual(await page.locator("input[data-chosen-path]").inputValue(), ".price")
          })
          yield* look("selector")
          assert.deepStrictEqual(requested.filter((one) => !one.startsWith(url)), [])
          assert.deepStrictEqual(errors, [])
          yield* checkNothingReported(page, proxy)
        }
      }).pipe(Effect.scoped),
    patience
  )
})
