// Rounds until steady state: convergence, window, cells against their axis, columns in three dimensions.
'use strict';
(function () {
  const {data, symbols, escape, measured, figure, tick, palette, log_axis, colour, frame, axis, value_axis, draw} = page;

  function convergence(g) {
    return () => {
      const p = palette();
      const o = frame(p, g.figure + ' against round');
      o.xAxis = axis(p, 'round', {type: 'category', data: Array.from({length: g.rounds}, (x, k) => String(k + 1)), nameLocation: 'middle', nameGap: 28, splitLine: {show: false}, boundaryGap: false});
      o.yAxis = value_axis(p, g.unit, g.cells.flatMap((c) => c.values));
      const tracked = new Set(g.variables.map((v) => v.label));
      o.legend.data = g.variables.map((v) => v.label);
      o.series = g.cells.map((c) => {
        const bold = tracked.has(c.label), k = bold ? g.variables.findIndex((v) => v.label === c.label) : c.series;
        return {type: 'line', name: c.label, data: c.values, symbol: bold ? symbols[k % symbols.length] : 'none', symbolSize: 7, z: bold ? 4 : 2,
                itemStyle: {color: bold ? colour(p, k) : p.soft}, lineStyle: {width: bold ? 2.5 : 1, color: bold ? colour(p, k) : p.soft, opacity: bold ? 1 : .45}};
      });
      o.tooltip.trigger = 'item';
      o.tooltip.formatter = (i) => escape(i.seriesName) + ', round ' + escape(i.name) + '<br><b>' + figure(i.value) + '</b> ' + escape(g.unit);
      return o;
    };
  }

  function steady_window(g) {
    return () => {
      const p = palette();
      const o = frame(p, 'Steady state window');
      const rounds = [];
      for (let r = g.window_first; r <= g.window_last; ++r) rounds.push(r);
      const list = g.variables.filter((v) => v.window);
      o.xAxis = axis(p, 'round', {type: 'category', data: rounds.map(String), nameLocation: 'middle', nameGap: 28, splitLine: {show: false}});
      // As a share of the average: variables of very different size keep their bounds apart.
      o.yAxis = axis(p, '% of the average', {type: 'value', scale: true, nameLocation: 'end', nameTextStyle: {align: 'left', color: p.soft, fontSize: 12, padding: [0, 0, 2, -24]},
        axisLabel: {color: p.soft, fontSize: 12, formatter: tick},
        min: (v) => Math.min(88, Math.floor(v.min)), max: (v) => Math.max(112, Math.ceil(v.max))});
      o.series = list.flatMap((v, k) => {
        const share = (x) => 100 * x / v.window.average;
        const line = (type) => ({width: 1.5, color: colour(p, k), type: type});
        return [
          {type: 'line', name: v.label, data: rounds.map((r) => share(v.values[r - 1])), figures: rounds.map((r) => v.values[r - 1]), symbol: symbols[k % symbols.length], symbolSize: 9, itemStyle: {color: colour(p, k)},
           lineStyle: {width: 2, color: colour(p, k)}, z: 4,
           markLine: k === 0 ? {silent: true, symbol: 'none', lineStyle: {color: p.ink, type: 'dashed'}, data: [
             {yAxis: 100, label: {formatter: 'average', position: 'insideEndTop', color: p.soft, fontSize: 10}},
             {yAxis: share(v.window.lower_bound), label: {formatter: 'lower bound', position: 'insideEndBottom', color: p.soft, fontSize: 10}},
             {yAxis: share(v.window.upper_bound), label: {formatter: 'upper bound', position: 'insideEndTop', color: p.soft, fontSize: 10}}]} : undefined},
          {type: 'line', name: 'fit of ' + v.label, symbol: 'none', lineStyle: line('dotted'), itemStyle: {color: colour(p, k)}, z: 3,
           data: rounds.map((r, n) => share(v.window.fit_first + (v.window.fit_last - v.window.fit_first) * (rounds.length > 1 ? n / (rounds.length - 1) : 0)))}];
      });
      o.legend.data = list.map((v) => v.label);
      o.tooltip.trigger = 'item';
      o.tooltip.formatter = (i) => {
        const v = list.find((x) => x.label === i.seriesName);
        return escape(i.seriesName) + ', round ' + escape(i.name) + '<br><b>' + (v ? figure(v.values[rounds[i.dataIndex] - 1]) + '</b> ' + escape(g.unit) + ', <b>' : '') + figure(i.value) + '</b> %';
      };
      return o;
    };
  }

  function cells(g) {
    return () => {
      const p = palette();
      const o = frame(p, g.figure + ' against ' + g.x_name);
      o.xAxis = axis(p, g.x_name, {type: 'category', data: g.xs, nameLocation: 'middle', nameGap: 28, splitLine: {show: false}, axisLabel: {color: p.soft, fontSize: 11, interval: 0, hideOverlap: true}});
      o.yAxis = value_axis(p, g.unit, g.cells.map((c) => c.figure));
      o.series = g.series.map((name, s) => ({
        type: 'line', name: name, symbol: symbols[s % symbols.length], symbolSize: 8, itemStyle: {color: colour(p, s)}, lineStyle: {width: 2, color: colour(p, s)}, connectNulls: true,
        data: g.xs.map((x, k) => { const c = g.cells.find((y) => y.x === k && y.series === s); return c && measured(c.figure) ? c.figure : null; })}));
      o.tooltip.trigger = 'item';
      o.tooltip.formatter = (i) => escape(i.seriesName) + ', ' + escape(i.name) + '<br><b>' + figure(i.value) + '</b> ' + escape(g.unit);
      return o;
    };
  }

  // Columns of boxes seen from above at an angle, heights on a logarithmic scale of whole decades as for the lines. Drawn back to
  // front; plain SVG, so that it prints and needs no graphics card.
  function columns(g, host) {
    let turn = .62;
    let chart = null;
    const option = () => {
      const p = palette();
      const o = frame(p, g.figure + ' in three dimensions');
      const scale = log_axis(g.cells.map((c) => c.figure));
      const height_of = scale.type === 'log' ? (v) => Math.max(0, Math.log10(v / scale.min) / Math.log10(scale.max / scale.min)) : () => 0;
      const element = document.getElementById(host);
      const width = element.clientWidth || 560, height = element.clientHeight || 330;
      const nx = g.xs.length, ny = g.series.length, size = Math.max(nx, ny);
      const c = Math.cos(turn), s = Math.sin(turn);
      // Floor coordinates to the picture; the middle of the floor is its middle.
      const unit = Math.min(width / (size * 1.75), height / (size * 1.25)), tall = height * .40;
      const at = (x, y, z) => {
        const u = (x - nx / 2) * (size / nx), v = (y - ny / 2) * (size / ny);
        return [width * .47 + (u * c - v * s) * unit, height * .60 + (u * s + v * c) * unit * .48 - z * tall];
      };
      const children = [];
      const quad = (points, fill, opacity) => children.push({type: 'polygon', shape: {points: points}, style: {fill: fill, opacity: opacity, stroke: p.page, lineWidth: .6}, silent: true});
      const text = (x, y, words, align, colour_of) => children.push({type: 'text', x: x, y: y, style: {text: words, fill: colour_of || p.soft, font: '10px ' + p.font, align: align, verticalAlign: 'middle'}, silent: true});
      const line = (a, b, opacity) => children.push({type: 'line', shape: {x1: a[0], y1: a[1], x2: b[0], y2: b[1]}, style: {stroke: p.line, lineWidth: 1, opacity: opacity}, silent: true});
      for (let k = 0; k <= nx; ++k) line(at(k, 0, 0), at(k, ny, 0), 1);
      for (let k = 0; k <= ny; ++k) line(at(0, k, 0), at(nx, k, 0), 1);
      const boxes = g.cells.filter((x) => measured(x.figure)).map((x) => ({cell: x, depth: at(x.x + .5, x.series + .5, 0)[1]})).sort((a, b) => a.depth - b.depth);
      for (const box of boxes) {
        const x0 = box.cell.x + .14, x1 = box.cell.x + .86, y0 = box.cell.series + .14, y1 = box.cell.series + .86, z = height_of(box.cell.figure), fill = colour(p, box.cell.series);
        const floor = [[x0, y0], [x1, y0], [x1, y1], [x0, y1]];
        for (let k = 0; k < 4; ++k) {
          const a = floor[k], b = floor[(k + 1) % 4], from = at(a[0], a[1], 0), to = at(b[0], b[1], 0);
          if (to[0] <= from[0]) quad([from, to, at(b[0], b[1], z), at(a[0], a[1], z)], fill, k % 2 ? .75 : .6);
        }
        children.push({type: 'polygon', shape: {points: floor.map((f) => at(f[0], f[1], z))}, style: {fill: fill, stroke: p.page, lineWidth: .6}, info: box.cell.label,
                       tooltip: {show: true, formatter: escape(box.cell.label) + '<br><b>' + figure(box.cell.figure) + '</b> ' + escape(g.unit)}});
      }
      g.xs.forEach((x, k) => { const a = at(k + .5, ny + .25, 0); text(a[0], a[1] + 5, x, 'center'); });
      g.series.forEach((x, k) => { const a = at(nx + .2, k + .5, 0); text(a[0] + 2, a[1], x, 'left', colour(p, k)); });
      if (scale.type === 'log') {
        const corner = at(0, ny, 0)[0] < at(0, 0, 0)[0] ? [0, ny] : [0, 0];
        line(at(corner[0], corner[1], 0), at(corner[0], corner[1], 1), 1);
        const decades = Math.round(Math.log10(scale.max / scale.min));
        for (let d = 0; d <= decades; ++d) { const a = at(corner[0], corner[1], d / decades); text(a[0] - 5, a[1], tick(scale.min * Math.pow(10, d)), 'right'); }
        text(at(corner[0], corner[1], 1)[0], at(corner[0], corner[1], 1)[1] - 14, g.unit, 'center');
      }
      o.legend = {show: false};
      o.graphic = o.graphic.concat([{type: 'group', id: 'columns', children: children}]);
      o.series = [];
      // The figures, for whoever reads the chart's data.
      o.dataset = {source: boxes.map((b) => [g.xs[b.cell.x], g.series[b.cell.series], b.cell.figure])};
      return o;
    };
    draw(host, option, (drawn) => { chart = drawn; });
    const element = document.getElementById(host);
    if (!element) return;
    const show = (angle) => { turn = Math.min(1.35, Math.max(.22, angle)); if (chart) chart.setOption(option(), true); };
    element.tabIndex = 0;
    element.addEventListener('keydown', (event) => {
      if (event.key !== 'ArrowLeft' && event.key !== 'ArrowRight') return;
      event.preventDefault();
      show(turn + (event.key === 'ArrowLeft' ? .08 : -.08));
    });
    let held = null;
    element.addEventListener('pointerdown', (event) => { held = {x: event.clientX, turn: turn}; element.setPointerCapture(event.pointerId); });
    element.addEventListener('pointermove', (event) => { if (held) show(held.turn + (event.clientX - held.x) / 300); });
    element.addEventListener('pointerup', () => { held = null; });
  }

  (data.rounds || []).forEach((g, k) => {
    draw('chart-convergence-' + k, convergence(g));
    if (g.window_first) draw('chart-window-' + k, steady_window(g));
    draw('chart-cells-' + k, cells(g));
    if (g.series_name) columns(g, 'chart-columns-' + k);
  });
})();
