// Opens pages of `farad report` in a headless Chromium and checks what a reader would see.
//
//   npm ci && node check_pages.js [--screenshot FILE] PAGE...
//
// Of each page: nothing is written to the console, nothing is loaded but the page, no text runs over
// its right edge on a phone, and, where there is a surface, the canvas is not blank and changes with
// orbit, excitation and quantity. The first page with a surface is opened again without WebGL and
// without JavaScript, where the picture must be seen. CHROMIUM names the browser's program.
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import puppeteer from "puppeteer-core";

const executablePath = process.env.CHROMIUM ?? "/usr/bin/chromium";
const LARGEST = 5e6; // bytes
const SOFTWARE_GL = ["--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--ignore-gpu-blocklist"];
const WITHOUT_GL = ["--disable-gpu", "--disable-3d-apis"];

function check(condition, message) {
  if (!condition) throw new Error(message);
}

async function withBrowser(flags, use) {
  const userDataDir = mkdtempSync(join(tmpdir(), "farad-check-"));
  const args = ["--no-sandbox", "--disable-dev-shm-usage", "--hide-scrollbars", ...flags];
  const browser = await puppeteer.launch({ executablePath, args, userDataDir, headless: true });
  try {
    return await use(browser);
  } finally {
    await browser.close();
    rmSync(userDataDir, { recursive: true, force: true });
  }
}

// A page, with what it wrote to the console and asked to load.
async function open(browser, path, settings = {}) {
  const page = await browser.newPage();
  const said = [];
  const url = pathToFileURL(resolve(path)).href;
  page.on("console", (message) => said.push(`${message.type()}: ${message.text()}`));
  page.on("pageerror", (error) => said.push(`error: ${error.message}`));
  page.on("request", (request) => {
    const asked = request.url();
    if (asked !== url && !asked.startsWith("data:") && !asked.startsWith("blob:")) said.push(`loads ${asked}`);
  });
  await page.setViewport({ width: 1280, height: 900, ...settings.viewport });
  if (settings.dark) await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: "dark" }]);
  await page.setJavaScriptEnabled(settings.javascript ?? true);
  await page.goto(url, { waitUntil: "load" });
  return { page, said };
}

const isLive = () => document.getElementById("scene").classList.contains("is-live");

// Distinct colours of the canvas, the part that is not empty, and a number for the picture.
async function look(page) {
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
  return page.evaluate(() => {
    const canvas = document.getElementById("scene-canvas");
    const copy = document.createElement("canvas");
    [copy.width, copy.height] = [canvas.width, canvas.height];
    const context = copy.getContext("2d");
    context.drawImage(canvas, 0, 0);
    const { data } = context.getImageData(0, 0, copy.width, copy.height);
    const colours = new Set();
    let covered = 0;
    let hash = 0;
    for (let i = 0; i < data.length; i += 4) {
      if (data[i + 3] > 0) covered++;
      colours.add((data[i] << 16) | (data[i + 1] << 8) | data[i + 2]);
      hash = (Math.imul(hash, 31) + data[i] + 7 * data[i + 1] + 13 * data[i + 2] + 17 * data[i + 3]) | 0;
    }
    return { colours: colours.size, covered: covered / (data.length / 4), hash };
  });
}

async function turn(page) {
  const box = await (await page.$("#scene-canvas")).boundingBox();
  const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
  await page.mouse.move(x, y);
  await page.mouse.down();
  await page.mouse.move(x + 90, y + 30, { steps: 4 });
  await page.mouse.up();
}

async function checkSurface(page) {
  await page.waitForFunction(isLive, { timeout: 20000 });
  await page.$eval("#scene", (element) => element.scrollIntoView());
  const first = await look(page);
  check(first.covered > 0.02 && first.colours > 8, `the canvas is blank: ${JSON.stringify(first)}`);
  await turn(page);
  const turned = await look(page);
  check(turned.hash !== first.hash, "the view does not turn");
  await page.click("#scene-reset");
  check((await look(page)).hash === first.hash, "the view does not come back");
  const excitations = Number(await page.$eval("#scene-excitation", (slider) => slider.max)) + 1;
  if (excitations > 1) {
    const before = await page.$eval("#scene-excitation-name", (output) => output.textContent);
    await page.focus("#scene-excitation");
    await page.keyboard.press("ArrowRight");
    check((await look(page)).hash !== first.hash, "the view is the same in the next excitation");
    const after = await page.$eval("#scene-excitation-name", (output) => output.textContent);
    check(after !== before && after !== "", `the next excitation is called "${after}"`);
    await page.keyboard.press("ArrowLeft");
  }
  await page.select("#scene-quantity", "body");
  check((await look(page)).hash !== first.hash, "the view is the same by conductor");
  const quantities = await page.$$eval("#scene-quantity option", (all) => all.map((option) => option.value));
  await page.select("#scene-quantity", quantities[0]);
  return excitations;
}

async function checkPage(browser, path) {
  const size = statSync(path).size;
  check(size < LARGEST, `${size} bytes`);
  const { page, said } = await open(browser, path);
  const hasSurface = (await page.$("#scene")) !== null;
  const excitations = hasSurface ? await checkSurface(page) : 0;
  const asPhone = { viewport: { width: 390, height: 800, isMobile: true, hasTouch: true } };
  const phone = await open(browser, path, asPhone);
  const wide = await phone.page.evaluate(() => document.documentElement.scrollWidth);
  check(wide <= 390, `the page is ${wide} pixels wide on a phone`);
  check(said.length + phone.said.length === 0, [...said, ...phone.said].join("\n"));
  await page.close();
  await phone.page.close();
  return `${size} bytes, ${hasSurface ? `${excitations} excitations` : "no surface"}`;
}

// The picture is seen, and the canvas and its controls are not.
async function checkPicture(browser, path, settings) {
  const { page, said } = await open(browser, path, settings);
  if (settings.javascript ?? true) {
    await page.waitForFunction(() => document.getElementById("scene-why").textContent !== "", { timeout: 20000 });
  }
  const isSeen = async (selector) => (await (await page.$(selector)).boundingBox()) !== null;
  check(await isSeen("#scene-picture"), "no picture where there is no view");
  check(!(await isSeen("#scene-canvas")) && !(await isSeen("#scene-reset")), "controls of a view that is not there");
  const errors = said.filter((line) => line.startsWith("error: ") || line.startsWith("loads "));
  check(errors.length === 0, errors.join("\n"));
  await page.close();
}

const paths = process.argv.slice(2);
let screenshot = null;
if (paths[0] === "--screenshot") [, screenshot] = paths.splice(0, 2);
if (paths.length === 0) {
  console.error("usage: node check_pages.js [--screenshot FILE] PAGE...");
  process.exit(2);
}
let failed = false;
const attempt = async (what, work) => {
  try {
    console.log(`${what}: ok, ${await work()}`);
  } catch (error) {
    console.error(`${what}: FAILED, ${error.message}`);
    failed = true;
  }
};
await withBrowser(SOFTWARE_GL, async (browser) => {
  for (const path of paths) await attempt(path, () => checkPage(browser, path));
  await attempt(`${paths[0]} without JavaScript`, async () => {
    await checkPicture(browser, paths[0], { javascript: false });
    return "the picture is there";
  });
  if (screenshot) {
    const { page } = await open(browser, paths[0], { viewport: { width: 1000, height: 1730 } });
    await page.waitForFunction(isLive, { timeout: 20000 });
    await look(page);
    await page.screenshot({ path: screenshot, fullPage: false });
    console.log(`screenshot in ${screenshot}`);
  }
});
await withBrowser(WITHOUT_GL, (browser) =>
  attempt(`${paths[0]} without WebGL`, async () => {
    await checkPicture(browser, paths[0], {});
    return "the picture is there";
  }),
);
process.exit(failed ? 1 : 0);
