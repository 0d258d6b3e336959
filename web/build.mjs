// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Bundles the page of kubectl weir map into internal/atlas/page. The first line of the bundle names the hash of what it is made from:
// this folder's files but node_modules. A Go test compares it.

import {createHash} from 'node:crypto';
import {readFileSync, readdirSync, writeFileSync} from 'node:fs';
import {build} from 'esbuild';

const hash = createHash('sha256');
const sources = ['build.mjs', 'package-lock.json', 'package.json', ...readdirSync('map').map((name) => 'map/' + name)].sort();
for (const name of sources) {
  hash.update(name + '\n').update(readFileSync(name)).update('\n');
}
const banner = `/* Made by make web; sources ${hash.digest('hex')} */`;
const licences = ['d3-selection', 'd3-ease'].map((name) => readFileSync(`node_modules/${name}/LICENSE`, 'utf8')).join('\n');
const licence = '/* Contains d3-hierarchy, d3-selection, d3-zoom and what these need of d3. The first licence is that of all but d3-ease.\n\n' +
  licences + '*/';
const out = process.argv[2] || '../internal/atlas/page';
await build({
  entryPoints: ['map/main.js'], bundle: true, minify: true, format: 'iife', target: 'es2022', charset: 'ascii', legalComments: 'none',
  banner: {js: banner + '\n' + licence}, outfile: out + '/map.js', logLevel: 'warning',
});
writeFileSync(out + '/map.css', banner + '\n' + readFileSync('map/map.css', 'utf8'));
