// What the charts of all pages share: figures as text, colours of the style sheet, axes, drawing, saving, printing. The data of a
// page is the JSON in it. Works from a file, offline.
'use strict';
const page = (function () {
  const data = JSON.parse(document.getElementById('data').textContent);
  const root = document.documentElement;
  root.dataset.errors = '0';
  window.addEventListener('error', () => { root.dataset.errors = String(Number(root.dataset.errors) + 1); });

  const symbols = ['circle', 'rect', 'triangle', 'diamond', 'emptyCircle', 'emptyRect', 'emptyTriangle', 'emptyDiamond'];
  const escape = (text) => echarts.format.encodeHTML(String(text));
  const measured = (value) => typeof value === 'number' && Number.isFinite(value);
  const charts = [];
  let printing = false;

  // Four significant digits, like the table, with thin groups of three.
  function figure(value) {
    if (!measured(value)) return '-';
    if (value === 0) return '0';
    const rounded = Number(value.toPrecision(4));
    const decimals = Math.max(0, 3 - Math.floor(Math.log10(Math.abs(rounded))));
    return rounded.toLocaleString('en-US', {minimumFractionDigits: Math.min(decimals, 8), maximumFractionDigits: Math.min(decimals, 8)});
  }
  // For axes: short.
  function tick(value) {
    const size = Math.abs(value);
    if (size >= 1e6) return Number((value / 1e6).toPrecision(3)) + ' M';
    if (size >= 1e4) return Number((value / 1e3).toPrecision(3)) + ' k';
    return String(Number(value.toPrecision(3)));
  }
  function time(microseconds) {
    if (microseconds >= 1e6) return Number((microseconds / 1e6).toPrecision(3)) + ' s';
    if (microseconds >= 1e3) return Number((microseconds / 1e3).toPrecision(3)) + ' ms';
    return Number(microseconds.toPrecision(3)) + ' \u00b5s';
  }
  function palette() {
    const style = getComputedStyle(root);
    const get = (name) => style.getPropertyValue(name).trim();
    return {
      ink: get('--ink'), soft: get('--soft'), line: get('--line'), page: get('--page'), panel: get('--panel'),
      series: [1, 2, 3, 4, 5, 6, 7, 8].map((k) => get('--s' + k)),
      // In single quotes: the chart library writes it into an attribute of the SVG as it is.
      font: getComputedStyle(document.body).fontFamily.replace(/"/g, "'"),
    };
  }
  // Whole decades around the values.
  function log_axis(values) {
    const positive = values.filter((v) => measured(v) && v > 0);
    if (!positive.length) return {type: 'value', min: 0};
    const low = Math.floor(Math.log10(Math.min(...positive))), high = Math.ceil(Math.log10(Math.max(...positive)));
    return {type: 'log', min: Math.pow(10, low), max: Math.pow(10, Math.max(high, low + 1))};
  }
  const colour = (p, k) => p.series[k % p.series.length];

  function frame(p, title) {
    return {
      animation: false, backgroundColor: p.page, textStyle: {fontFamily: p.font, color: p.ink}, aria: {enabled: true, label: {description: title}},
      grid: {left: 12, right: 18, top: 34, bottom: 58, containLabel: true},
      legend: {type: 'scroll', bottom: 0, itemWidth: 24, itemHeight: 9, itemGap: 16, textStyle: {color: p.ink, fontSize: 12},
               pageTextStyle: {color: p.soft}, pageIconColor: p.soft},
      // A saved chart must carry the label too.
      graphic: data.mark ? [{type: 'text', right: 18, top: 8, style: {text: data.mark, fill: p.soft, font: '600 11px ' + p.font}}] : [],
      tooltip: {confine: true, backgroundColor: p.page, borderColor: p.line, textStyle: {color: p.ink, fontSize: 13}},
    };
  }
  function axis(p, name, more) {
    return Object.assign({
      name: name, nameTextStyle: {color: p.soft, fontSize: 12}, axisLabel: {color: p.soft, fontSize: 12},
      axisLine: {lineStyle: {color: p.line}}, axisTick: {lineStyle: {color: p.line}}, splitLine: {lineStyle: {color: p.line, opacity: .6}},
    }, more);
  }
  const value_axis = (p, name, values) => axis(p, name, {
    ...(values ? log_axis(values) : {type: 'value', min: 0}), nameLocation: 'end', nameTextStyle: {align: 'left', color: p.soft, fontSize: 12, padding: [0, 0, 2, -24]},
    axisLabel: {color: p.soft, fontSize: 12, formatter: tick}, splitNumber: 5,
  });

  // Charts are drawn one after the other, the first at once, so that the page answers while it draws. `then` gets the chart.
  const waiting = [];
  let finished = false;
  const draw = (host, option, then) => waiting.push({host: host, option: option, then: then});
  function draw_next() {
    const next = waiting.shift();
    const element = document.getElementById(next.host);
    if (!element) return;
    const chart = echarts.init(element, null, {renderer: 'svg'});
    charts.push({chart: chart, option: next.option, element: element});
    if (next.then) next.then(chart);
    chart.setOption(next.option());
    element.parentElement.querySelectorAll('button[data-save]').forEach((button) => button.addEventListener('click', () => save(chart, element.dataset.name, button.dataset.save)));
  }
  function draw_all() {
    while (waiting.length) draw_next();
    finished = true;
    root.dataset.charts = String(charts.length);
  }
  function draw_on() {
    if (waiting.length) draw_next();
    if (waiting.length) setTimeout(draw_on, 0);
    else if (!finished) draw_all();
  }
  function download(url, name) {
    const link = document.createElement('a');
    link.href = url;
    link.download = name;
    link.click();
  }
  // PNG at twice the size on the page, drawn from the very SVG.
  function picture(chart, then) {
    const image = new Image();
    image.onload = () => {
      const canvas = document.createElement('canvas');
      canvas.width = 2 * chart.getWidth();
      canvas.height = 2 * chart.getHeight();
      canvas.getContext('2d').drawImage(image, 0, 0, canvas.width, canvas.height);
      then(canvas.toDataURL('image/png'));
    };
    image.onerror = () => then('');
    image.src = chart.getDataURL({type: 'svg'});
  }
  function save(chart, name, type) {
    if (type === 'png') picture(chart, (url) => download(url, name + '.png'));
    else download(chart.getDataURL({type: 'svg'}), name + '.svg');
  }

  // RFC 4180; what a spreadsheet would run as a formula gets a leading apostrophe. Notes behind a heading's name become its unit.
  function csv_of(table) {
    const field = (text) => {
      const plain = text.replace(/\s+/g, ' ').trim();
      const number = /^-?[0-9., ]*[0-9]$/.test(plain) ? plain.replace(/[, ]/g, '') : plain;
      const safe = /^[=+@\t]|^-(?![0-9]|$)/.test(number) ? "'" + number : number;
      return /[",\n]/.test(safe) ? '"' + safe.replace(/"/g, '""') + '"' : safe;
    };
    const heading = (cell) => {
      const unit = cell.querySelector('small');
      const name = [...cell.childNodes].filter((n) => n !== unit).map((n) => n.textContent).join('');
      return unit && unit.textContent.trim() ? name + ' [' + unit.textContent.trim() + ']' : name;
    };
    return [...table.rows].map((row) => [...row.cells].map((cell) => field(row.parentElement.tagName === 'THEAD' ? heading(cell) : cell.textContent)).join(',')).join('\r\n') + '\r\n';
  }
  async function copy(button) {
    const text = csv_of(document.getElementById(button.dataset.copy));
    let done = true;
    try {
      await navigator.clipboard.writeText(text);
    } catch (refused) {  // a page opened as a file may not; the old way needs a selection
      const area = document.createElement('textarea');
      area.value = text;
      document.body.appendChild(area);
      area.select();
      done = document.execCommand('copy');
      area.remove();
    }
    const words = button.textContent;
    button.textContent = done ? 'Copied' : 'The browser refused';
    setTimeout(() => { button.textContent = words; }, 1500);
  }
  document.querySelectorAll('button[data-copy]').forEach((button) => button.addEventListener('click', () => copy(button)));
  const redraw = () => charts.forEach((c) => c.chart.setOption(c.option(), true));

  window.addEventListener('resize', () => { if (!printing) charts.forEach((c) => c.chart.resize()); });
  window.matchMedia('(prefers-color-scheme: dark)').addEventListener('change', redraw);
  // On paper: the colours of the print style, scaled to the page instead of laid out again.
  window.addEventListener('beforeprint', () => {
    draw_all();
    printing = true;
    document.querySelectorAll('details[data-print]').forEach((d) => { d.open = true; });
    charts.forEach((c) => {
      const svg = c.element.querySelector('svg');
      svg.setAttribute('viewBox', '0 0 ' + c.chart.getWidth() + ' ' + c.chart.getHeight());
    });
  });
  window.addEventListener('afterprint', () => {
    printing = false;
    charts.forEach((c) => { c.element.querySelector('svg').removeAttribute('viewBox'); c.chart.resize(); });
    redraw();
  });
  window.matchMedia('print').addEventListener('change', redraw);
  const done = draw_on;
  return {data, symbols, escape, measured, figure, tick, time, palette, log_axis, colour, frame, axis, value_axis, draw, redraw, done, charts, picture, csv_of};
})();
