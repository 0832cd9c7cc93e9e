// The page: takes a picture, runs the network on it, shows the five most likely classes. What depends on the network is in
// the folder network/, which `make` fills: the module with its loader, labels.txt and settings.json.
import { load } from './network/net.mjs';
import { prepare, presets } from './picture.js';

const $ = (id) => document.getElementById(id);

// text fetches a file of the network.
async function text(name) {
  const response = await fetch(`network/${name}`);
  if (!response.ok) throw new Error(`network/${name}: HTTP status ${response.status}`);
  return response.text();
}

// open loads everything, and runs the network once: engines translate it better after they have seen it run.
async function open() {
  const [net, settings, labels] = await Promise.all([load(), text('settings.json').then(JSON.parse), text('labels.txt')]);
  const input = net.inputs[0];
  net.run({ [input.name]: prepare({ width: 1, height: 1, data: [0, 0, 0, 255] }, input) });
  $('about').textContent = `${settings.title}: ${input.shape.join(' × ')} in, ${net.outputs[0].shape.at(-1)} classes out`;
  return {
    net,
    input,
    settings: { ...presets[settings.preprocess], ...(settings.filter && { filter: settings.filter }) },
    labels: labels.trim().split('\n').map((line) => line.replace(/^n\d{8}\s+/, '')), // without WordNet's numbers
  };
}

const ready = open();
ready.catch(fail);

// pixels decodes a picture as it is stored: no colour profile, no premultiplied alpha.
async function pixels(blob) {
  const bitmap = await createImageBitmap(blob, { colorSpaceConversion: 'none', premultiplyAlpha: 'none' });
  const canvas = new OffscreenCanvas(bitmap.width, bitmap.height);
  const context = canvas.getContext('2d', { willReadFrequently: true });
  context.drawImage(bitmap, 0, 0);
  return context.getImageData(0, 0, bitmap.width, bitmap.height);
}

async function classify(blob) {
  try {
    const { net, input, settings, labels } = await ready;
    const data = prepare(await pixels(blob).catch(() => { throw new Error('this file is not a picture that the browser can show'); }), input, settings);
    const start = performance.now();
    const out = net.run({ [input.name]: data });
    const time = performance.now() - start;
    show(blob, shares(Array.from(out[net.outputs[0].name].data, Number)), labels, time);
  } catch (e) {
    fail(e);
  }
}

// shares turns scores into probabilities, unless the network did.
function shares(scores) {
  const total = scores.reduce((a, b) => a + b, 0);
  if (Math.abs(total - 1) < 1e-3 && scores.every((x) => x >= 0)) return scores;
  const most = Math.max(...scores), exps = scores.map((x) => Math.exp(x - most));
  const sum = exps.reduce((a, b) => a + b, 0);
  return exps.map((x) => x / sum);
}

function show(blob, shares, labels, time) {
  URL.revokeObjectURL($('picture').src);
  $('picture').src = URL.createObjectURL(blob);
  $('picture').hidden = false;
  $('error').hidden = true;
  $('time').innerHTML = `<b>${time.toFixed(time < 10 ? 2 : 1)} ms</b> for one run`;
  const best = shares.map((share, i) => ({ share, name: labels[i] ?? `class ${i}` })).sort((a, b) => b.share - a.share).slice(0, 5);
  $('answers').replaceChildren(...best.map(({ share, name }) => {
    const row = document.createElement('li');
    row.innerHTML = '<span class="bar"></span><span class="name"></span><span class="share"></span>';
    row.children[0].style.width = `${100 * share}%`;
    row.children[1].textContent = name;
    row.children[1].title = name;
    row.children[2].textContent = `${(100 * share).toFixed(1)} %`;
    return row;
  }));
}

function fail(e) {
  $('error').textContent = e.message;
  $('error').hidden = false;
}

const first = (list) => Array.from(list ?? []).find((f) => f.type.startsWith('image/')) ?? list?.[0];
const take = (files) => { const f = first(files); if (f) classify(f); };

$('file').addEventListener('change', (e) => take(e.target.files));
$('sample').addEventListener('click', async () => classify(await (await fetch('network/sample.png')).blob()));
document.addEventListener('paste', (e) => take(e.clipboardData.files));
document.addEventListener('dragover', (e) => { e.preventDefault(); $('drop').classList.add('over'); });
document.addEventListener('dragleave', () => $('drop').classList.remove('over'));
document.addEventListener('drop', (e) => { e.preventDefault(); $('drop').classList.remove('over'); take(e.dataTransfer.files); });
