/** Measurements of page layout for tests. */
import type { Page } from 'playwright-core';

export interface Box {
  readonly left: number;
  readonly top: number;
  readonly right: number;
  readonly bottom: number;
}

/** Bounding box of an element in the window, pixels. */
export async function boxOf(page: Page, selector: string): Promise<Box> {
  const box = await page.locator(selector).boundingBox();
  if (!box) throw new Error(`${selector} is not visible`);
  const { x, y, width, height } = box;
  return { left: x, top: y, right: x + width, bottom: y + height };
}

/**
 * Elements that overflow the window or a non-scrolling container, so that part of them is
 * unreadable.
 */
export function overflowing(page: Page): Promise<readonly string[]> {
  return page.evaluate(`(() => {
    const width = document.documentElement.clientWidth;
    const name = (each) => each.tagName + '#' + each.id + '.' + each.getAttribute('class');
    const all = [...document.querySelectorAll('body *')].filter(
      (each) => !each.closest('.visually-hidden, .drawing, title'),
    );
    const outside = all.filter((each) => {
      const { left, right } = each.getBoundingClientRect();
      return right > width + 0.5 || left < -0.5;
    });
    const clipped = all.filter(
      (each) =>
        !(each instanceof SVGElement) &&
        each.scrollWidth > each.clientWidth + 1 &&
        getComputedStyle(each).overflowX === 'visible' &&
        getComputedStyle(each).display !== 'inline',
    );
    const scrolls = document.documentElement.scrollWidth > width ? ['the page'] : [];
    return [...scrolls, ...outside.map(name), ...clipped.map((each) => 'in ' + name(each))];
  })()`);
}

/**
 * Texts whose contrast with their background is below 4.5.
 * @see WCAG 2.2, 1.4.3
 */
export function paleTexts(page: Page): Promise<readonly string[]> {
  return page.evaluate(`(() => {
    const parse = (color) => {
      const [r, g, b, a = 1] = color.match(/[\\d.]+/g).map(Number);
      return { r, g, b, a };
    };
    const over = (top, below) => {
      const mix = (key) => top[key] * top.a + below[key] * (1 - top.a);
      return { r: mix('r'), g: mix('g'), b: mix('b'), a: 1 };
    };
    const backOf = (each) => {
      const own = parse(getComputedStyle(each).backgroundColor);
      if (own.a === 1 || !each.parentElement) return own;
      return over(own, backOf(each.parentElement));
    };
    const luminance = ({ r, g, b }) => {
      const [x, y, z] = [r, g, b].map((part) => {
        const share = part / 255;
        return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
      });
      return 0.2126 * x + 0.7152 * y + 0.0722 * z;
    };
    const contrast = (one, other) => {
      const [dark, bright] = [luminance(one), luminance(other)].sort((a, b) => a - b);
      return (bright + 0.05) / (dark + 0.05);
    };
    const hasText = (each) =>
      [...each.childNodes].some((node) => node.nodeType === 3 && node.data.trim() !== '');
    return [...document.querySelectorAll('body *')]
      .filter((each) => hasText(each) && each.getClientRects().length > 0)
      .filter((each) => !(each instanceof SVGElement))
      .flatMap((each) => {
        const found = contrast(parse(getComputedStyle(each).color), backOf(each));
        return found < 4.5 ? [each.textContent.slice(0, 40) + ' ' + found.toFixed(2)] : [];
      });
  })()`);
}

/** In-page implementation of `readingFaults`, for elements found by these selectors. */
const faultsInPage = `(drawing, holder) => {
    const svg = document.querySelector(drawing);
    const scale = svg.getScreenCTM().a;
    const texts = [...svg.querySelectorAll('text')].map((each) => ({
      words: each.textContent,
      height: parseFloat(getComputedStyle(each).fontSize) * scale,
      box: each.getBoundingClientRect(),
      inside: each.getBBox(),
    }));
    if (texts.length === 0) return ['no texts'];
    const meet = (a, b) =>
      a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 1 && b.top < a.bottom - 1;
    const { left, right } = svg.getBoundingClientRect();
    const outer = document.querySelector(holder);
    const lines = [...svg.querySelectorAll('.transition path')].flatMap((each) => {
      const [, ...at] = /^M([^,]+),([^H]+)H([^V]+)V([^H]+)H(.+)$/.exec(each.getAttribute('d'));
      const [x, y, lane, to, end] = at.map(Number);
      return [[x, y, lane, y], [lane, y, lane, to], [end, to, lane, to]];
    });
    const isUnder = ({ x, y, width, height }) => lines.some(([x1, y1, x2, y2]) =>
      Math.max(x1, x2) > x && Math.min(x1, x2) < x + width &&
      Math.max(y1, y2) > y && Math.min(y1, y2) < y + height);
    return [
      ...(outer.scrollWidth > outer.clientWidth ? ['wider than ' + outer.clientWidth] : []),
      ...texts.filter(({ height }) => height < 11).map((text) => text.words + ' is ' + text.height + ' high'),
      ...texts.filter(({ box }) => box.left < left || box.right > right).map(({ words }) => words + ' is outside'),
      ...texts.filter(({ inside }) => isUnder(inside)).map(({ words }) => words + ' is under a line'),
      ...texts.flatMap((one, at) => texts.slice(at + 1)
        .filter((other) => meet(one.box, other.box))
        .map((other) => one.words + ' is over ' + other.words)),
    ];
  }`;

/**
 * Reasons why a drawing is unreadable: texts below 11 pixels, overlapping or crossed by lines,
 * texts outside the drawing, and drawings wider than their container.
 */
export function readingFaults(
  page: Page,
  drawing: string,
  holder: string,
): Promise<readonly string[]> {
  return page.evaluate(`(${faultsInPage})(${JSON.stringify(drawing)}, ${JSON.stringify(holder)})`);
}

export interface DrawnChart {
  /** Id of the chart's tab without `tab-`. */
  readonly id: string;
  /** Number of states marked active. */
  readonly active: number;
  /** Number of states drawn. */
  readonly states: number;
  /** @see readingFaults */
  readonly faults: readonly string[];
}

/**
 * Shows charts of the inspector's page in turn, all within one evaluation: a round trip per chart
 * would cost more than the drawing.
 * @param ids default: all
 */
export function drawnCharts(page: Page, ids?: readonly string[]): Promise<readonly DrawnChart[]> {
  return page.evaluate(`(async () => {
    const faultsOf = ${faultsInPage};
    const frame = () => new Promise((resolve) => requestAnimationFrame(resolve));
    const ids = ${JSON.stringify(ids)};
    const charts = [];
    for (const tab of document.querySelectorAll('#charts [role=tab]')) {
      const id = tab.id.replace('tab-', '');
      if (ids && !ids.includes(id)) continue;
      tab.click();
      while (!document.getElementById('chart-' + id)?.querySelector('.drawing svg')) await frame();
      const active = document.querySelectorAll('.drawing .node.active').length;
      const states = document.querySelectorAll('.drawing .state').length;
      charts.push({ id, active, states, faults: faultsOf('.drawing svg', '.chart') });
    }
    return charts;
  })()`);
}
