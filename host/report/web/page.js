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
      font: getComputedStyle(document.body).fontFamily,
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

  function draw(host, option) {
    const element = document.getElementById(host);
    if (!element) return;
    const chart = echarts.init(element, null, {renderer: 'svg'});
    charts.push({chart: chart, option: option, element: element});
    chart.setOption(option());
    element.parentElement.querySelectorAll('button[data-save]').forEach((button) => {
      button.addEventListener('click', () => save(chart, option, element, button.dataset.save));
    });
  }
  function save(chart, option, element, type) {
    const link = document.createElement('a');
    if (type === 'png') {
      // The page draws in SVG; a picture needs a canvas of the same size.
      const hidden = document.createElement('div');
      hidden.style.cssText = 'position:absolute;left:-10000px;width:' + chart.getWidth() + 'px;height:' + chart.getHeight() + 'px';
      document.body.appendChild(hidden);
      const canvas = echarts.init(hidden, null, {renderer: 'canvas'});
      canvas.setOption(option());
      link.href = canvas.getDataURL({type: 'png', pixelRatio: 2, backgroundColor: palette().page});
      canvas.dispose();
      hidden.remove();
    } else {
      link.href = chart.getDataURL({type: 'svg'});
    }
    link.download = element.dataset.name + '.' + type;
    link.click();
    root.dataset.saved = link.href.slice(0, 22);
  }
  // A table as text for a spreadsheet.
  function table_csv(table) {
    const cell = (text) => (/[",\n]/.test(text) ? '"' + text.replace(/"/g, '""') + '"' : text);
    const words = (c) => (c.querySelector('small') ? c.childNodes[0].textContent.trim() + ' [' + c.querySelector('small').textContent.trim() + ']' : c.textContent.trim());
    return [...table.rows].map((row) => [...row.cells].map((c) => cell(words(c).replace(/ \[\]$/, ''))).join(',')).join('\n') + '\n';
  }
  document.querySelectorAll('button[data-copy]').forEach((button) => {
    button.addEventListener('click', () => {
      const text = table_csv(document.getElementById(button.dataset.copy));
      const done = () => { const before = button.textContent; button.textContent = 'Copied'; setTimeout(() => { button.textContent = before; }, 1500); };
      const by_hand = () => {
        // A page from a file may have no clipboard of its own.
        const area = document.createElement('textarea');
        area.value = text;
        document.body.appendChild(area);
        area.select();
        document.execCommand('copy');
        area.remove();
        done();
      };
      if (navigator.clipboard && window.isSecureContext) navigator.clipboard.writeText(text).then(done, by_hand);
      else by_hand();
    });
  });
  const redraw = () => charts.forEach((c) => c.chart.setOption(c.option(), true));

  window.addEventListener('resize', () => { if (!printing) charts.forEach((c) => c.chart.resize()); });
  window.matchMedia('(prefers-color-scheme: dark)').addEventListener('change', redraw);
  // On paper: the colours of the print style, scaled to the page instead of laid out again.
  window.addEventListener('beforeprint', () => {
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
  const done = () => { root.dataset.charts = String(charts.length); };
  return {data, symbols, escape, measured, figure, tick, time, palette, log_axis, colour, frame, axis, value_axis, draw, redraw, done, charts, table_csv};
})();
