// Power over the run, zoomable to single samples, and speed and power against position. The bins and the samples are in the page;
// a chart gets as many points as it has pixels.
'use strict';
(function () {
  const {data, escape, measured, figure, tick, palette, colour, frame, axis, draw} = page;

  // ------------------------------------------------------------------------------------------------ the page's own data
  const bytes_of = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const floats_of = (text) => new Float32Array(bytes_of(text).buffer);
  // 71.234 s, 2 min 03.5 s, 1 h 02 min 03 s; more decimals when the range is short.
  function clock(seconds, range) {
    const decimals = range >= 100 ? 0 : Math.min(6, Math.max(0, Math.ceil(2 - Math.log10(range))));
    if (Math.abs(seconds) < 120) return seconds.toFixed(decimals) + ' s';
    const sign = seconds < 0 ? '-' : '', all = Math.abs(seconds);
    const rest = (all % 60).toFixed(decimals).padStart(decimals ? decimals + 3 : 2, '0');
    const minutes = Math.floor(all / 60);
    return sign + (minutes < 120 ? minutes + ' min ' + rest + ' s' : Math.floor(minutes / 60) + ' h ' + String(minutes % 60).padStart(2, '0') + ' min ' + rest + ' s');
  }

  function prepare(t) {
    const bins = {};
    for (const name of ['mean', 'low', 'high', 'volts', 'megabytes_per_second', 'iops']) bins[name] = floats_of(t[name]);
    bins.side_low = bytes_of(t.side_low);
    bins.side_high = bytes_of(t.side_high);
    const windows = t.windows.filter((w) => w.watts).map((w) => {
      const watts = floats_of(w.watts);
      return {begin: w.begin, step: w.step, end: w.begin + w.step * watts.length, why: w.why, watts: watts, volts: floats_of(w.volts), side: bytes_of(w.side)};
    });
    return {bins, windows};
  }

  // What a range shows: columns of bins, and the single samples in it when they are few enough to be seen.
  const most_columns = 900, most_samples = 6000;
  function view_of(t, own, from, to) {
    const count = own.bins.mean.length;
    // One more on each side, so that a line does not end inside of the picture.
    const first = Math.max(0, Math.floor((from - t.begin) / t.bin) - 1), last = Math.min(count, Math.ceil((to - t.begin) / t.bin) + 1);
    const step = Math.max(1, Math.ceil((last - first) / most_columns));
    const view = {mean: [], band: [], volts: [], speed: [], iops: [], lines: t.lines.map(() => []), samples: [], sample_volts: [], bins_of_a_column: step, sample_count: 0};
    for (let k = first; k < last; k += step) {
      const end = Math.min(k + step, last);
      let sums = {mean: 0, volts: 0, megabytes_per_second: 0, iops: 0}, known = {mean: 0, volts: 0, megabytes_per_second: 0, iops: 0};
      let low = Infinity, high = -Infinity, side_low = 0, side_high = 0;
      for (let n = k; n < end; ++n) {
        for (const name in sums) {
          const value = own.bins[name][n];
          if (value === value) { sums[name] += value; ++known[name]; }
        }
        if (own.bins.low[n] < low) low = own.bins.low[n];
        if (own.bins.high[n] > high) high = own.bins.high[n];
        side_low |= own.bins.side_low[n];
        side_high |= own.bins.side_high[n];
      }
      const x0 = t.begin + k * t.bin, x1 = t.begin + end * t.bin, x = (x0 + x1) / 2;
      const mean = (name) => (known[name] ? sums[name] / known[name] : null);
      view.mean.push([x, mean('mean')]);
      view.volts.push([x, mean('volts')]);
      view.speed.push([x, mean('megabytes_per_second')]);
      view.iops.push([x, mean('iops')]);
      if (low <= high) view.band.push([x0, x1, low, high]);
      t.lines.forEach((line, l) => view.lines[l].push([x0, x1, side_low & line.bit ? 1 : 0, side_high & line.bit ? 1 : 0]));
    }
    const seen = own.windows.filter((w) => w.end > from && w.begin < to);
    for (const w of seen) view.sample_count += w.watts.length;
    if (view.sample_count > most_samples) return view;
    for (const w of seen) {
      for (let k = 0; k < w.watts.length; ++k) {
        const x = w.begin + (k + .5) * w.step;
        view.samples.push([x, w.watts[k]]);
        view.sample_volts.push([x, w.volts[k]]);
      }
      view.samples.push([w.end, null]);
      view.sample_volts.push([w.end, null]);
    }
    return view;
  }

  const kinds = {io: 0, idle: 2, cool_off: 3, precondition: 4, purge: 5};

  function trace_chart(t) {
    const own = prepare(t);
    const span = t.end - t.begin;
    let from = t.begin, to = t.end, view = null, chart = null, inside = false, in_iops = data.prefer_iops;
    const shortest = 31e-6 * 8;

    function series(p) {
      view = view_of(t, own, from, to);
      const range = to - from;
      const symbols = view.samples.length > 0 && view.samples.filter((s) => s[0] >= from && s[0] <= to).length < 160;
      const areas = t.phases.filter((x) => x.end > from && x.begin < to && x.end - x.begin > range / 400).map((x) => {
        const wide = (Math.min(x.end, to) - Math.max(x.begin, from)) / range;
        return [{xAxis: Math.max(x.begin, t.begin), name: x.label, itemStyle: {color: colour(p, kinds[x.kind] === undefined ? 6 : kinds[x.kind]), opacity: x.kind === 'io' ? .10 : .05},
                 label: {show: wide > .05, color: p.soft, fontSize: 10, position: 'insideTop', overflow: 'truncate', width: Math.max(20, wide * chart_width() - 6),
                         formatter: (item) => item.name}}, {xAxis: Math.min(x.end, t.end)}];
      });
      const list = [
        {id: 'band', type: 'custom', name: 'lowest to highest', xAxisIndex: 0, yAxisIndex: 0, data: view.band, silent: true, z: 1, clip: true,
         encode: {x: [0, 1], y: [2, 3]}, itemStyle: {color: colour(p, 0)}, tooltip: {show: false},
         renderItem: (params, api) => {
           const a = api.coord([api.value(0), api.value(3)]), b = api.coord([api.value(1), api.value(2)]);
           return {type: 'rect', shape: {x: a[0], y: a[1], width: Math.max(1, b[0] - a[0] + .5), height: Math.max(.5, b[1] - a[1])}, style: {fill: colour(p, 0), opacity: .25}};
         }},
        {id: 'mean', type: 'line', name: 'mean power', xAxisIndex: 0, yAxisIndex: 0, data: view.mean, symbol: 'none', z: 3, step: view.mean.length < 60 ? 'middle' : false,
         lineStyle: {width: 1.5, color: colour(p, 0)}, itemStyle: {color: colour(p, 0)},
         markArea: {silent: true, data: areas},
         markLine: {silent: true, symbol: 'none', lineStyle: {color: p.soft, type: 'dotted'}, data: t.markers.slice(0, 200).filter((m) => m.at >= from && m.at <= to).map((m) => ({xAxis: m.at, name: m.text,
                    label: {formatter: (item) => item.name, color: p.ink, fontSize: 10, position: 'insideEndTop'}}))}},
        {id: 'samples', type: 'line', name: 'single samples', xAxisIndex: 0, yAxisIndex: 0, data: view.samples, showSymbol: symbols, symbol: 'circle', symbolSize: 4, z: 4,
         lineStyle: {width: 1, color: colour(p, 1)}, itemStyle: {color: colour(p, 1)}, connectNulls: false},
        {id: 'peaks', type: 'scatter', name: 'ten highest peaks', xAxisIndex: 0, yAxisIndex: 0, data: t.peaks.filter((x) => x[0] >= from && x[0] <= to), symbol: 'triangle', symbolSize: 8, symbolOffset: [0, -6], z: 5,
         itemStyle: {color: colour(p, 5)}},
        {id: 'volts', type: 'line', name: 'voltage', xAxisIndex: 1, yAxisIndex: 1, data: own.windows.some((w) => w.begin <= from + w.step && w.end >= to - w.step) && view.sample_volts.length ? view.sample_volts : view.volts, symbol: 'none',
         lineStyle: {width: 1.5, color: colour(p, 2)}, itemStyle: {color: colour(p, 2)}},
        {id: 'speed', type: 'line', name: in_iops ? 'IOPS' : 'MB/s', xAxisIndex: 2, yAxisIndex: 2, data: in_iops ? view.iops : view.speed, symbol: 'none', areaStyle: {color: colour(p, 3), opacity: .15},
         lineStyle: {width: 1.5, color: colour(p, 3)}, itemStyle: {color: colour(p, 3)}},
      ];
      if (t.lines.length) list.push({
        id: 'lines', type: 'custom', name: 'side-band lines', xAxisIndex: 3, yAxisIndex: 3, silent: true, clip: true, z: 2, tooltip: {show: false}, encode: {x: [0, 1], y: 2},
        itemStyle: {color: colour(p, 7)}, data: view.lines.flatMap((columns, l) => columns.map((c) => [c[0], c[1], l, c[2], c[3]])),
        // High: a line above; low: one below; both within the column: a block.
        renderItem: (params, api) => {
          const a = api.coord([api.value(0), api.value(2)]), b = api.coord([api.value(1), api.value(2)]);
          const low = api.value(3), high = api.value(4), half = 7;
          if (!low && !high) return undefined;
          const top = high ? a[1] - half : a[1] + half - 1.5, bottom = low ? a[1] + half : a[1] - half + 1.5;
          return {type: 'rect', shape: {x: a[0], y: top, width: Math.max(1, b[0] - a[0] + .5), height: bottom - top}, style: {fill: colour(p, 7), opacity: low && high ? .45 : 1}};
        }});
      return list;
    }
    const chart_width = () => (chart ? chart.getWidth() - 90 : 1000);

    function option() {
      const p = palette();
      const o = frame(p, 'Power over the run');
      const lines = t.lines.length;
      const left = 78, right = 18, lines_height = lines * 26, bottom = 96 + (lines ? lines_height + 12 : 0);
      o.legend.bottom = 2;
      o.legend.data = ['mean power', 'lowest to highest', 'single samples', 'ten highest peaks'];
      o.grid = [{left, right, top: 28, bottom: bottom + 200}, {left, right, height: 70, bottom: bottom + 108}, {left, right, height: 84, bottom: bottom}];
      if (lines) o.grid.push({left, right, height: lines_height, bottom: 88});
      const panels = o.grid.length;
      const time_axis = (k) => axis(p, '', {type: 'value', min: t.begin, max: t.end, gridIndex: k, splitLine: {show: false},
        axisPointer: {show: true, snap: false, label: {show: k === panels - 1, formatter: (x) => clock(x.value, (to - from) / 100)}},
        axisLabel: {show: k === panels - 1, color: p.soft, fontSize: 11, hideOverlap: true, formatter: (v) => clock(v, to - from)}});
      o.xAxis = o.grid.map((g, k) => time_axis(k));
      const value = (k, name, more) => axis(p, name, Object.assign({type: 'value', gridIndex: k, nameLocation: 'middle', nameGap: 56, splitNumber: k === 0 ? 5 : 2,
        axisLabel: {color: p.soft, fontSize: 11, formatter: tick, hideOverlap: true}}, more));
      const whole = to - from > .6 * span;
      o.yAxis = [value(0, 'W', whole ? {min: 0} : {scale: true}), value(1, 'V', {scale: true, axisLabel: {color: p.soft, fontSize: 11, hideOverlap: true, formatter: (v) => String(Number(v.toFixed(5)))}}), value(2, in_iops ? 'IOPS' : 'MB/s', {min: 0})];
      if (lines) o.yAxis.push(axis(p, '', {type: 'category', gridIndex: 3, inverse: true, data: t.lines.map((l) => l.name), splitLine: {show: false}, axisTick: {show: false},
        axisLabel: {color: p.soft, fontSize: 11, interval: 0}}));
      o.axisPointer = {link: [{xAxisIndex: 'all'}]};
      const zooms = {xAxisIndex: o.grid.map((g, k) => k), filterMode: 'none', startValue: from, endValue: to, minValueSpan: shortest};
      o.dataZoom = [Object.assign({type: 'inside', zoomOnMouseWheel: 'ctrl', moveOnMouseWheel: false}, zooms),
                    Object.assign({type: 'slider', bottom: 30, height: 24, left, right, showDataShadow: false, brushSelect: false, borderColor: p.line, fillerColor: 'rgba(120,150,190,.22)',
                                   textStyle: {color: p.soft, fontSize: 10}, labelFormatter: (v) => clock(v, to - from)}, zooms)];
      o.tooltip.trigger = 'axis';
      o.tooltip.formatter = (items) => {
        if (!items.length) return '';
        const at = items[0].axisValue;
        const phase = t.phases.find((x) => at >= x.begin && at < x.end);
        const seen = new Set();
        return clock(at, (to - from) / 100) + (phase ? ' &middot; ' + escape(phase.label) : '') + items.filter((i) => {
          if (i.seriesId === 'band' || i.seriesId === 'lines' || seen.has(i.seriesId)) return false;
          seen.add(i.seriesId);
          return measured(i.value[1]);
        }).map((i) => '<br>' + i.marker + escape(i.seriesName) + '&ensp;<b>' + figure(i.value[1]) + '</b> ' +
          (i.seriesId === 'volts' ? 'V' : i.seriesId === 'speed' ? '' : 'W')).join('');
      };
      o.series = series(p);
      return o;
    }

    const state = document.getElementById('trace-state');
    function tell() {
      if (!state) return;
      const count = view.samples.filter((s) => s[1] !== null && s[0] >= from && s[0] <= to).length;
      state.textContent = 'Shown: ' + clock(from, to - from) + ' to ' + clock(to, to - from) + '; a column is ' + figure(view.bins_of_a_column * t.bin * 1e3) + ' ms' +
        (count ? '; single samples in it: ' + count : view.sample_count ? '; zoom in for single samples' : '; single samples here: none in this page');
    }
    function show(a, b) {
      if (!chart) return;
      const length = Math.min(span, Math.max(shortest, b - a));
      from = Math.max(t.begin, Math.min(a, t.end - length));
      to = from + length;
      inside = true;
      chart.setOption(option(), {replaceMerge: ['series']});
      inside = false;
      tell();
    }
    draw('chart-trace', () => { const o = option(); tell(); return o; }, (drawn) => {
      chart = drawn;
      chart.on('datazoom', () => {
        if (inside) return;
        const zoom = chart.getOption().dataZoom[0];
        show(zoom.startValue, zoom.endValue);
      });
    });

    const actions = {
      in: () => show(from + (to - from) / 4, to - (to - from) / 4), out: () => show(from - (to - from) / 2, to + (to - from) / 2),
      left: () => show(from - (to - from) / 4, to - (to - from) / 4), right: () => show(from + (to - from) / 4, to + (to - from) / 4),
      all: () => show(t.begin, t.end)};
    document.querySelectorAll('#trace-buttons button[data-zoom]').forEach((b) => b.addEventListener('click', () => actions[b.dataset.zoom]()));
    const element = document.getElementById('chart-trace');
    element.tabIndex = 0;
    const keys = {'+': 'in', '=': 'in', '-': 'out', ArrowLeft: 'left', ArrowRight: 'right', Home: 'all', Escape: 'all', 0: 'all'};
    element.addEventListener('keydown', (event) => {
      if (!keys[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      actions[keys[event.key]]();
    });
    const jump = document.getElementById('trace-jump');
    const places = [{name: 'the whole run', from: t.begin, to: t.end}];
    const group = (name, list) => {
      if (!list.length) return;
      const element_of = document.createElement('optgroup');
      element_of.label = name;
      for (const one of list) {
        const item = document.createElement('option');
        item.value = String(places.length);
        item.textContent = one.name;
        places.push(one);
        element_of.appendChild(item);
      }
      jump.appendChild(element_of);
    };
    const first = document.createElement('option');
    first.value = '0';
    first.textContent = 'the whole run';
    jump.appendChild(first);
    group('phases', t.phases.filter((x) => x.end > x.begin).slice(0, 500).map((x) => ({name: x.label, from: x.begin - (x.end - x.begin) * .03, to: x.end + (x.end - x.begin) * .03})));
    group('single samples', own.windows.map((w) => ({name: clock(w.begin, 1) + ': ' + w.why, from: w.begin, to: w.end})));
    jump.addEventListener('change', () => show(places[jump.value].from, places[jump.value].to));
    document.querySelectorAll('input[name=words]').forEach((input) => input.addEventListener('change', () => { in_iops = input.value === 'iops'; show(from, to); }));
    page.trace = {show, places, own, view: () => view};
  }

  // ------------------------------------------------------------------------------------------------ against position
  function fill_chart(f) {
    return () => {
      const p = palette();
      const o = frame(p, f.label);
      const with_power = f.points.some((x) => measured(x[2]));
      o.grid.left = 34;
      o.grid.right = with_power ? 34 : 18;
      // Labels of the falls alone, and of no two that would cover each other.
      const width = f.regions.length ? f.regions[f.regions.length - 1].end : 1;
      let labelled = -Infinity;
      const changes = f.changes.map((c) => {
        const says = c.ratio < .9 && c.at - labelled > width * .08;
        if (says) labelled = c.at;
        return {xAxis: c.at, label: {show: says, formatter: figure(c.at) + ' GB: x ' + c.ratio.toPrecision(2), color: p.ink, fontSize: 10, position: 'insideEndTop'}};
      });
      o.xAxis = axis(p, 'position [GB]', {type: 'value', min: 0, max: Math.max(...f.points.map((x) => x[0]), ...f.regions.map((r) => r.end)), nameLocation: 'middle', nameGap: 28, splitLine: {show: false},
                                        axisLabel: {color: p.soft, fontSize: 12, formatter: tick}});
      const side = (name, k, at) => axis(p, name, {type: 'value', min: 0, position: at, nameLocation: 'middle', nameGap: 42, nameTextStyle: {color: colour(p, k), fontSize: 12},
                                                   axisLabel: {color: p.soft, fontSize: 12, formatter: tick}, splitLine: {show: k === 0, lineStyle: {color: p.line, opacity: .6}}, splitNumber: 5});
      o.yAxis = [side('MB/s', 0, 'left')];
      if (with_power) o.yAxis.push(side('W', 1, 'right'));
      const steps = f.regions.flatMap((r) => [[r.begin, r.megabytes_per_second], [r.end, r.megabytes_per_second], [r.end, null]]);
      o.series = [
        {id: 'speed', type: 'line', name: 'MB/s', data: f.points.map((x) => [x[0], x[1]]), symbol: 'none', lineStyle: {width: 1, color: colour(p, 0), opacity: .8}, itemStyle: {color: colour(p, 0)}, z: 2,
         markLine: {silent: true, symbol: 'none', lineStyle: {color: p.ink, type: 'dashed'}, data: changes},
         markArea: {silent: true, itemStyle: {color: p.ink, opacity: .12}, data: f.changes.map((c) => [{xAxis: c.low}, {xAxis: c.high}])}},
        {id: 'levels', type: 'line', name: 'levels', data: steps, symbol: 'none', lineStyle: {width: 3, color: colour(p, 0)}, itemStyle: {color: colour(p, 0)}, z: 3},
      ];
      if (with_power) o.series.push({id: 'power', type: 'line', name: 'W', yAxisIndex: 1, data: f.points.map((x) => [x[0], x[2]]), symbol: 'none', lineStyle: {width: 1.5, color: colour(p, 1)},
                                     itemStyle: {color: colour(p, 1)}, z: 2});
      o.tooltip.trigger = 'axis';
      o.tooltip.formatter = (items) => (items.length ? figure(items[0].axisValue) + ' GB' : '') + items.filter((i) => i.seriesId !== 'levels' && measured(i.value[1])).map(
        (i) => '<br>' + i.marker + '<b>' + figure(i.value[1]) + '</b> ' + escape(i.seriesName)).join('');
      return o;
    };
  }

  if (data.trace) trace_chart(data.trace);
  (data.fills || []).forEach((f, k) => draw('chart-fill-' + k, fill_chart(f)));
})();
