// Builds web/static/dist from the locked packages: `npm ci && npm run build`.
//
// Out: one script for every page, one each for the editor, the inside of a kernel and access maps, one
// small enough to block in <head>; the fonts; VERSIONS.md and LICENSES.txt, which say what was bundled. Names are stable;
// the web server's manifest adds hashes.

import { build } from "esbuild";
import { cp, mkdir, readFile, readdir, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";

const here = path.dirname(fileURLToPath(import.meta.url));
const modules = path.join(here, "node_modules");
const dist = path.resolve(here, "../static/dist");

const SANS = ["latin", "latin-ext", "greek"].flatMap((subset) => [
  `ibm-plex-sans-${subset}-400-normal`,
  `ibm-plex-sans-${subset}-600-normal`,
]);
const FONTS = {
  "@fontsource/ibm-plex-sans": [...SANS, "ibm-plex-sans-latin-400-italic"].map(
    (name) => `files/${name}.woff2`,
  ),
  "@fontsource/ibm-plex-mono": ["latin-400-normal", "latin-600-normal", "latin-400-italic", "latin-ext-400-normal"].map(
    (name) => `files/ibm-plex-mono-${name}.woff2`,
  ),
  "@ibm/plex-math": ["fonts/complete/woff2/IBMPlexMath-Regular.woff2"],
};

async function bundle() {
  const result = await build({
    absWorkingDir: here,
    entryPoints: ["src/theme.js", "src/app.js", "src/editor.js", "src/inside.js", "src/maps.js"],
    outdir: dist,
    bundle: true,
    minify: true,
    format: "iife",
    target: "es2022",
    charset: "utf8",
    legalComments: "none", // LICENSES.txt carries the whole texts
    metafile: true,
  });
  const found = new Set();
  for (const output of Object.values(result.metafile.outputs)) {
    for (const [file, { bytesInOutput }] of Object.entries(output.inputs)) {
      const match = file.match(/node_modules\/((?:@[^/]+\/)?[^/]+)\//);
      if (match && bytesInOutput > 0) found.add(match[1]);
    }
  }
  return found;
}

async function copyFonts() {
  await mkdir(path.join(dist, "fonts"), { recursive: true });
  for (const [name, files] of Object.entries(FONTS)) {
    for (const file of files) {
      await cp(path.join(modules, name, file), path.join(dist, "fonts", path.basename(file)));
    }
  }
}

async function describe(name) {
  const folder = path.join(modules, name);
  const { version, license } = JSON.parse(await readFile(path.join(folder, "package.json"), "utf8"));
  const file = (await readdir(folder)).find((entry) => /^licen[cs]e/i.test(entry));
  if (!file) throw new Error(`${name} ships no licence text`);
  return { name, version, license, text: (await readFile(path.join(folder, file), "utf8")).trim() };
}

async function writeNotices(names) {
  const packages = await Promise.all([...names].sort().map(describe));
  const rows = packages.map((p) => `| ${p.name} | ${p.version} | ${p.license} |`);
  const table = ["| package | version | licence |", "| --- | --- | --- |", ...rows].join("\n");
  await writeFile(
    path.join(dist, "VERSIONS.md"),
    `# What is bundled here\n\nMade by \`make assets\` from web/assets; do not edit. Licence texts: LICENSES.txt.\n\n${table}\n`,
  );
  const texts = packages.map((p) => `${p.name} ${p.version} (${p.license})\n\n${p.text}\n`);
  await writeFile(path.join(dist, "LICENSES.txt"), texts.join(`\n${"-".repeat(78)}\n\n`));
}

await rm(dist, { recursive: true, force: true });
const bundled = await bundle();
await copyFonts();
await writeNotices([...bundled, ...Object.keys(FONTS)]);
