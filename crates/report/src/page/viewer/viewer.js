// The view of a surface in a page of `farad report`: orbit, zoom and pan, a choice of quantity and
// a slider over excitations. Data come from the page itself; nothing is loaded.
//
// In the page are
//   #scene-about  JSON: counts, box, names and units of fields, colour maps (page::scene)
//   #scene-data   base64 of zlib: vertices (3 u16 each, in the box), triangles (3 u32, each the
//                 difference from the number before), body of each triangle (u16), then for each
//                 field one byte a triangle: 0 is no value, 1 to 255 are from low to high
import {
  BufferAttribute, BufferGeometry, DoubleSide, Mesh, PerspectiveCamera, Raycaster, Scene, ShaderMaterial, Vector2,
  Vector3, WebGLRenderer,
} from "three";
import { OrbitControls } from "three/examples/jsm/controls/OrbitControls.js";

const NONE = [0.62, 0.62, 0.62]; // the colour of triangles without a value

const VERTEX = `
attribute vec3 colour;
attribute vec3 corner;
varying vec3 vColour;
varying vec3 vCorner;
varying vec3 vPlace;
void main() {
  vec4 place = modelViewMatrix * vec4(position, 1.0);
  vColour = colour;
  vCorner = corner;
  vPlace = place.xyz;
  gl_Position = projectionMatrix * place;
}`;

// Flat facets under a light at the camera, with their sides where they are shown.
const FRAGMENT = `
uniform float sides;
varying vec3 vColour;
varying vec3 vCorner;
varying vec3 vPlace;
void main() {
  vec3 normal = normalize(cross(dFdx(vPlace), dFdy(vPlace)));
  float facing = abs(dot(normal, normalize(vPlace)));
  vec3 shown = vColour * (0.68 + 0.32 * facing);
  vec3 distance = vCorner / fwidth(vCorner);
  float inside = smoothstep(0.0, 1.1, min(min(distance.x, distance.y), distance.z));
  // Triangles of a few pixels would be all sides.
  vec3 step = fwidth(vCorner);
  float clear = 1.0 - smoothstep(0.08, 0.3, max(max(step.x, step.y), step.z));
  gl_FragColor = vec4(mix(shown * 0.72, shown, mix(1.0, inside, sides * clear)), 1.0);
}`;

const byId = (id) => document.getElementById(id);

async function unpack(about) {
  const packed = Uint8Array.from(atob(byId("scene-data").textContent), (c) => c.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  const bytes = await new Response(stream).arrayBuffer();
  let at = 0;
  const take = (Kind, count) => {
    const values = new Kind(bytes.slice(at, at + count * Kind.BYTES_PER_ELEMENT));
    at += count * Kind.BYTES_PER_ELEMENT;
    return values;
  };
  const vertices = take(Uint16Array, 3 * about.vertices);
  const triangles = take(Uint32Array, 3 * about.triangles);
  for (let i = 1; i < triangles.length; i++) triangles[i] += triangles[i - 1];
  const bodies = take(Uint16Array, about.triangles);
  const fields = about.fields.map((field) => (field.of === undefined ? take(Uint8Array, about.triangles) : null));
  return { vertices, triangles, bodies, fields };
}

// Each triangle has corners of its own, so that it has one colour.
function geometryOf(about, data) {
  const count = 3 * about.triangles;
  const places = new Float32Array(3 * count);
  const corners = new Float32Array(3 * count);
  for (let i = 0; i < count; i++) {
    const vertex = data.triangles[i];
    for (let axis = 0; axis < 3; axis++) {
      places[3 * i + axis] = (data.vertices[3 * vertex + axis] / 65535 - 0.5) * about.extent[axis];
    }
    corners[3 * i + (i % 3)] = 1;
  }
  const geometry = new BufferGeometry();
  geometry.setAttribute("position", new BufferAttribute(places, 3));
  geometry.setAttribute("corner", new BufferAttribute(corners, 3));
  geometry.setAttribute("colour", new BufferAttribute(new Float32Array(3 * count), 3));
  geometry.computeBoundingSphere();
  return geometry;
}

// A colour of a map of equidistant stops, x from 0 to 1.
function colourAt(stops, x) {
  const place = Math.min(Math.max(x, 0), 1) * (stops.length - 1);
  const low = Math.min(Math.floor(place), stops.length - 2);
  return stops[low].map((value, k) => (value + (place - low) * (stops[low + 1][k] - value)) / 255);
}

function shown(value) {
  const size = Math.abs(value);
  if (size === 0) return "0";
  const text = size >= 1e-3 && size < 1e5 ? String(Number(value.toPrecision(3))) : value.toExponential(2);
  return text.replaceAll("-", "\u2212");
}

async function start() {
  const about = JSON.parse(byId("scene-about").textContent);
  const canvas = byId("scene-canvas");
  const context = canvas.getContext("webgl2", { antialias: true, alpha: true, preserveDrawingBuffer: true });
  if (!context) throw new Error("WebGL is missing or switched off");
  const renderer = new WebGLRenderer({ canvas, context });
  const data = await unpack(about);
  const geometry = geometryOf(about, data);
  const material = new ShaderMaterial({
    vertexShader: VERTEX,
    fragmentShader: FRAGMENT,
    uniforms: { sides: { value: 0 } },
    side: DoubleSide,
  });
  const scene = new Scene();
  const mesh = new Mesh(geometry, material);
  scene.add(mesh);

  const radius = geometry.boundingSphere.radius;
  const centre = geometry.boundingSphere.center;
  const camera = new PerspectiveCamera(30, 1, radius / 100, radius * 100);
  camera.up.set(0, 0, 1);
  const controls = new OrbitControls(camera, canvas);
  canvas.style.touchAction = "pan-y"; // a finger still scrolls the page
  controls.maxDistance = 20 * radius;
  // Of a page that scrolls, the wheel zooms only a view that was clicked or tapped.
  controls.enableZoom = false;
  canvas.addEventListener("pointerdown", () => (controls.enableZoom = true));
  canvas.addEventListener("pointerleave", () => (controls.enableZoom = false));
  canvas.addEventListener("keydown", (event) => {
    const turns = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
    const turn = turns[event.key];
    if (turn) {
      orbit(turn[0] * 0.15, turn[1] * 0.15);
    } else if (event.key === "+" || event.key === "-") {
      camera.position.sub(controls.target).multiplyScalar(event.key === "+" ? 0.85 : 1 / 0.85).add(controls.target);
    } else {
      return;
    }
    event.preventDefault();
    controls.update();
    draw();
  });

  function orbit(across, up) {
    const away = camera.position.clone().sub(controls.target);
    const length = away.length();
    const height = Math.min(Math.max(Math.asin(away.z / length) - up, -1.5), 1.5);
    const turned = Math.atan2(away.y, away.x) + across;
    const flat = length * Math.cos(height);
    away.set(flat * Math.cos(turned), flat * Math.sin(turned), length * Math.sin(height));
    camera.position.copy(controls.target).add(away);
  }

  let wanted = false;
  function draw() {
    if (wanted) return;
    wanted = true;
    requestAnimationFrame(() => {
      wanted = false;
      renderer.render(scene, camera);
    });
  }

  function reset() {
    // As far away as the corners need, in the direction that the picture has.
    const away = new Vector3(...about.direction).normalize();
    const right = new Vector3().crossVectors(camera.up, away).normalize();
    const up = new Vector3().crossVectors(away, right);
    const slope = Math.tan((camera.fov * Math.PI) / 360) * 0.92;
    let distance = 0;
    const places = geometry.getAttribute("position");
    const at = new Vector3();
    for (let corner = 0; corner < places.count; corner++) {
      at.fromBufferAttribute(places, corner).sub(centre);
      const needed = Math.max(Math.abs(at.dot(right)) / camera.aspect, Math.abs(at.dot(up))) / slope;
      distance = Math.max(distance, needed + at.dot(away));
    }
    controls.target.copy(centre);
    camera.position.copy(centre).addScaledVector(away, distance);
    controls.update();
    draw();
  }

  function resize() {
    const { width, height } = canvas.getBoundingClientRect();
    if (width === 0 || height === 0) return;
    renderer.setPixelRatio(Math.min(window.devicePixelRatio, 2));
    renderer.setSize(width, height, false);
    camera.aspect = width / height;
    camera.updateProjectionMatrix();
    draw();
  }

  const quantity = byId("scene-quantity");
  const slider = byId("scene-excitation");
  let field = null;

  // The byte that a triangle has in the field on show: potentials of excitations are 1 V on one
  // conductor and 0 V on all others.
  function code(triangle) {
    if (field.of === undefined) return data.fields[field.index][triangle];
    const body = data.bodies[triangle];
    if (body >= about.conductors) return 0;
    return body === field.of ? 255 : 1;
  }

  function paint() {
    const kind = quantity.value;
    const all = about.fields.map((f, index) => ({ ...f, index })).filter((f) => f.kind === kind);
    const colours = geometry.getAttribute("colour");
    const isField = all.length > 0;
    slider.max = Math.max(all.length - 1, 0);
    slider.parentElement.hidden = all.length < 2;
    field = isField ? all[Math.min(Number(slider.value), all.length - 1)] : null;
    const stops = isField ? about.maps[field.map] : null;
    const ofCode = isField ? [NONE, ...Array.from({ length: 255 }, (_, k) => colourAt(stops, k / 254))] : null;
    for (let t = 0; t < about.triangles; t++) {
      const body = about.bodies[data.bodies[t]];
      const colour = isField ? ofCode[code(t)] : body.colour.map((value) => value / 255);
      for (let k = 0; k < 9; k++) colours.array[9 * t + k] = colour[k % 3];
    }
    colours.needsUpdate = true;
    byId("scene-excitation-name").textContent = isField ? field.name : "";
    byId("scene-legend").hidden = !isField;
    byId("scene-bodies").hidden = isField;
    if (isField) {
      const steps = stops.map((s) => `rgb(${s.join(",")})`).join(",");
      byId("scene-ramp").style.background = `linear-gradient(to right, ${steps})`;
      const middle = (field.low + field.high) / 2;
      byId("scene-low").textContent = shown(field.low);
      byId("scene-middle").textContent = shown(middle);
      byId("scene-high").textContent = shown(field.high);
      byId("scene-unit").textContent = `${field.label}${field.unit ? ` in ${field.unit}` : ""}`;
    }
    draw();
  }

  // What is under the pointer.
  const tip = byId("scene-tip");
  const caster = new Raycaster();
  let asked = 0;
  function point(event) {
    tip.hidden = true;
    clearTimeout(asked);
    if (event.buttons !== 0) return;
    asked = setTimeout(() => {
      const box = canvas.getBoundingClientRect();
      const [x, y] = [event.clientX - box.left, event.clientY - box.top];
      caster.setFromCamera(new Vector2((2 * x) / box.width - 1, 1 - (2 * y) / box.height), camera);
      const [hit] = caster.intersectObject(mesh);
      if (!hit) return;
      const triangle = hit.faceIndex;
      let text = about.bodies[data.bodies[triangle]].name;
      if (field) {
        const c = code(triangle);
        const value = field.low + ((c - 1) / 254) * (field.high - field.low);
        const sign = field.of !== undefined ? "" : c === 1 ? "\u2264 " : c === 255 ? "\u2265 " : "\u2248 ";
        text += c === 0 ? "" : `: ${sign}${shown(value)} ${field.unit}`;
      }
      tip.textContent = text;
      tip.style.left = `${Math.min(x + 12, box.width - 160)}px`;
      tip.style.top = `${y + 12}px`;
      tip.hidden = false;
    }, 60);
  }
  canvas.addEventListener("pointermove", point);
  canvas.addEventListener("pointerleave", () => {
    clearTimeout(asked);
    tip.hidden = true;
  });

  const sides = byId("scene-sides");
  const showSides = () => {
    material.uniforms.sides.value = sides.checked ? 1 : 0;
    draw();
  };
  sides.addEventListener("change", showSides);
  quantity.addEventListener("change", paint);
  slider.addEventListener("input", paint);
  byId("scene-reset").addEventListener("click", reset);
  controls.addEventListener("change", draw);
  canvas.addEventListener("webglcontextlost", () => fall("The view was lost: reload the page to see it again."));
  new ResizeObserver(resize).observe(canvas);

  // The picture makes room only when everything is there.
  byId("scene").classList.add("is-live");
  resize();
  reset();
  showSides();
  paint();
}

// The static picture stays, with the reason.
function fall(why) {
  byId("scene").classList.remove("is-live");
  byId("scene-why").textContent = why;
}

if (byId("scene-about")) {
  start().catch((error) => fall(`This browser shows no 3D view, but a picture (${error.message ?? error}).`));
}
