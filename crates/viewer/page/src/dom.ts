// Small helpers for elements.

type Props = Record<string, unknown> & { class?: string };

/** An element with properties, listeners (onclick ...) and children. Texts are texts, never markup. */
export function h<K extends keyof HTMLElementTagNameMap>(tag: K, props: Props = {}, ...children: (Node | string | null)[]): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (value === undefined || value === null || value === false) continue;
    if (name === 'class') element.className = String(value);
    else if (name.startsWith('on')) element.addEventListener(name.slice(2), value as EventListener);
    else if (name in element && name !== 'list') (element as unknown as Record<string, unknown>)[name] = value;
    else element.setAttribute(name, String(value));
  }
  element.append(...children.filter((child) => child !== null));
  return element;
}

/** Text with code between backticks. */
export function words(text: string): (Node | string)[] {
  return text.split(/`([^`]*)`/).map((part, i) => (i % 2 === 1 ? h('code', {}, part) : part));
}

/** A number with so many digits, without noise: 0.3, 1.2e-9. */
export function sig(x: number, digits = 3): string {
  if (!Number.isFinite(x)) return String(x);
  if (x === 0) return '0';
  const size = Math.abs(x);
  if (size >= 1e5 || size < 1e-3) {
    const [mantissa, power] = x.toExponential(digits - 1).split('e');
    return `${Number(mantissa)}e${Number(power)}`;
  }
  return String(Number(x.toPrecision(digits)));
}

const ICONS: Record<string, string> = {
  play: 'M7 4.5v15l13-7.5z',
  pause: 'M6 4.5h4.2v15H6zm7.8 0H18v15h-4.2z',
  step: 'M5 4.5v15l9.5-7.5zM16 4.5h3v15h-3z',
  back: 'M19 4.5v15L9.5 12zM5 4.5h3v15H5z',
  reset: 'M12 5a7 7 0 1 1-6.6 4.7l2 .8A4.9 4.9 0 1 0 12 7.1V11L6.5 6 12 1z',
  fit: 'M3 9V3h6v2H5v4zm12-6h6v6h-2V5h-4zM3 15h2v4h4v2H3zm16 0h2v6h-6v-2h4z',
  theme: 'M12 3a9 9 0 1 0 0 18zm0-2a11 11 0 1 1 0 22 11 11 0 0 1 0-22z',
  force: 'M4 18.6 15.6 7H9V4h12v12h-3V9.4L6.4 21z',
  contact: 'M3 19h18v2.5H3zM10.5 17V8.5H7L12 2l5 6.5h-3.5V17z',
  trail: 'M3 17c4 0 4-9 8-9s4 8 7 8v3c-6 0-5-8-7-8s-3 9-8 9zM19 5a2.5 2.5 0 1 1 0 5 2.5 2.5 0 0 1 0-5z',
  joint: 'M12 7a5 5 0 1 1 0 10 5 5 0 0 1 0-10zm0 2.5a2.5 2.5 0 1 0 0 5 2.5 2.5 0 0 0 0-5zM1 11h5v2H1zm17 0h5v2h-5z',
  follow: 'M12 2l3.5 5H13v4h4V8.500l5 3.500-5 3.500V13h-4v4h2.500L12 22l-3.500-5H11v-4H7v2.500L2 12l5-3.500V11h4V7H8.500z',
  help: 'M12 2a10 10 0 1 1 0 20 10 10 0 0 1 0-20zm0 14.500a1.300 1.300 0 1 0 0 2.600 1.300 1.300 0 0 0 0-2.600zM12 5.500a4 4 0 0 0-4 4h2.200a1.800 1.800 0 1 1 2.700 1.500c-1.200.8-2 1.500-2 3.500h2.200c0-1.200.5-1.500 1.300-2a4 4 0 0 0-2.400-7z',
  close: 'M5.500 4 12 10.500 18.500 4 20 5.500 13.500 12 20 18.500 18.500 20 12 13.500 5.500 20 4 18.500 10.500 12 4 5.500z',
  panel: 'M3 4h18v16H3zm2 2v12h8V6z',
};

/** An icon drawn in the colour of its text. */
export function icon(name: string): SVGElement {
  const space = 'http://www.w3.org/2000/svg';
  const svg = document.createElementNS(space, 'svg');
  svg.setAttribute('viewBox', '0 0 24 24');
  svg.setAttribute('aria-hidden', 'true');
  const path = document.createElementNS(space, 'path');
  path.setAttribute('d', ICONS[name]);
  svg.append(path);
  return svg;
}

/** A button with an icon; its name is read aloud and shown on hovering. */
export function iconButton(name: string, title: string, onclick: () => void, props: Props = {}): HTMLButtonElement {
  const button = h('button', { type: 'button', class: 'icon', title, 'aria-label': title, ...props });
  button.addEventListener('click', (event) => {
    // After the mouse the keys are the page's again; who walks by keys stays where they are.
    if (event.detail > 0) button.blur();
    onclick();
  });
  button.append(icon(name));
  return button;
}

/** After a choice by mouse the keys are the page's again; who chooses by keys stays there. */
export function letGo(select: HTMLSelectElement): HTMLSelectElement {
  let pressed = false;
  select.addEventListener('pointerdown', () => (pressed = true));
  select.addEventListener('keydown', () => (pressed = false));
  select.addEventListener('change', () => {
    if (pressed) select.blur();
  });
  return select;
}
