// Draws what a report has of time and of position: the power of the whole run, down to single samples where the page holds them, and
// fills with their cliffs. The chart of the run answers to the wheel, the slider, the list of places, and the arrow keys.
'use strict';
(function () {
  const {data, escape, measured, figure, tick, palette, colour, frame, axis, value_axis, draw, charts} = page;

  // ------------------------------------------------------------------------------------------------ power over time
  const trace = data.trace;
  const most_shown = 1200;     // bins drawn at a time: about one a pixel
  const sample_range = 3000;   // ms: below, single samples can be told apart
  const watts_of = (unit) => (unit === null ? null : unit / 1e4);

  function clock(ms) {
    if (Math.abs(ms) < 1000) return Number(ms.toFixed(3)) + ' ms';
    if (Math.abs(ms) < 600e3) return Number((ms / 1e3).toFixed(3)) + ' s';
    return Number((ms / 60e3).toFixed(2)) + ' min';
  }

  // Bins of [from, to], merged so that none that is shown hides another: lowest of the lowest, highest of the highest.
  function bins_of(from, to) {
    const first = Math.max(0, Math.floor(from / trace.bin)), last = Math.min(trace.mean.length, Math.ceil(to / trace.bin));
    const step = Math.max(1, Math.ceil((last - first) / most_shown));
    const shown = {step: step, mean: [], volts: [], lines: [], rows: []};
    for (let k = first - first % step; k < last; k += step) {
      let low = null, high = null, sum = 0, volts = 0, count = 0, lines = 0;
      for (let j = k; j < Math.min(k + step, trace.mean.length); ++j) {
        if (trace.mean[j] === null) continue;
        low = low === null ? trace.low[j] : Math.min(low, trace.low[j]);
        high = high === null ? trace.high[j] : Math.max(high, trace.high[j]);
        sum += trace.mean[j];
        volts += trace.volts[j] || 0;
        lines |= trace.lines ? trace.lines[j] : 0;
        ++count;
      }
      const t = (k + step / 2) * trace.bin;
      const mean = count ? sum / count / 1e4 : null;
      shown.mean.push([t, mean]);
      shown.volts.push([t, count ? volts / count / 1e3 : null]);
      if (trace.lines) for (let b = 0; b < 8; ++b) (shown.lines[b] = shown.lines[b] || []).push([t, lines >> b & 1 ? b + 0.8 : b + 0.2]);
      shown.rows.push([t, watts_of(low), mean, watts_of(high), count ? volts / count / 1e3 : null]);
    }
    return shown;
  }
  function samples_of(from, to) {
    if (to - from > sample_range) return [];
    const points = [];
    trace.windows.forEach((w) => {
      if (w.to < from || w.from > to) return;
      const period = (w.to - w.from) / w.watts.length;
      if (points.length) points.push([w.from, null]);
      w.watts.forEach((v, k) => points.push([w.from + (k + 0.5) * period, watts_of(v)]));
    });
    return points;
  }

  // From the lowest to the highest of each bin, one surface for each stretch without a hole.
  function band(p, rows) {
    return {
      type: 'custom', name: 'lowest to highest', silent: true, z: 1, clip: true, tooltip: {show: false}, itemStyle: {color: colour(p, 0), opacity: .4},
      data: rows.filter((r) => r[1] !== null).slice(0, 1).map((r) => [r[0], r[1], r[3]]), encode: {x: 0, y: [1, 2]},
      renderItem: (params, api) => {
        const children = [];
        let stretch = [];
        const close = () => {
          if (stretch.length) {
            const points = stretch.map((r) => api.coord([r[0], r[3]])).concat(stretch.slice().reverse().map((r) => api.coord([r[0], r[1]])));
            children.push({type: 'polygon', shape: {points: points}, style: {fill: colour(p, 0), stroke: colour(p, 0), lineWidth: .6, opacity: .3}});
          }
          stretch = [];
        };
        rows.forEach((r) => { if (r[1] === null) close(); else stretch.push(r); });
        close();
        return {type: 'group', children: children};
      },
    };
  }

  let range = null;
  const line_names = ['CLKREQ#', 'PERST#', 'activity', 'PEWAKE#', 'DEVSLP', 'trigger in', 'sync out', 'power on'];

  function trace_option() {
    const p = palette();
    const end = trace.mean.length * trace.bin;
    if (!range) range = [0, end];
    const shown = bins_of(range[0], range[1]);
    const samples = samples_of(range[0], range[1]);
    const option = frame(p, 'Power over time');
    const lines = Boolean(trace.lines);
    option.grid = [{left: 64, right: 18, top: 34, height: lines ? '48%' : '56%'}, {left: 64, right: 18, top: lines ? '63%' : '71%', height: '8%'}];
    if (lines) option.grid.push({left: 64, right: 18, top: '75%', height: '8%'});
    const time_axis = (grid, labels) => axis(p, '', {
      type: 'value', gridIndex: grid, min: 0, max: end, splitLine: {show: false}, splitNumber: 8,
      axisLabel: {show: labels, color: p.soft, fontSize: 12, formatter: clock, hideOverlap: true},
    });
    option.xAxis = [time_axis(0, false), time_axis(1, !lines)].concat(lines ? [time_axis(2, true)] : []);
    const power_axis = value_axis(p, 'W');
    const volt_axis = axis(p, 'V', {type: 'value', scale: true, gridIndex: 1, splitNumber: 2, axisLabel: {color: p.soft, fontSize: 11}, nameTextStyle: {color: p.soft, fontSize: 12}});
    option.yAxis = [power_axis, volt_axis].concat(lines ? [axis(p, '', {type: 'value', gridIndex: 2, min: 0, max: 8, axisLabel: {show: false}, splitLine: {show: false}})] : []);
    const crowded = trace.phases.filter((x) => x.to > range[0] && x.from < range[1]).length > 24;
    const area = {
      silent: true, itemStyle: {color: p.line, opacity: .25}, label: {color: p.soft, fontSize: 11, position: 'insideTop', rotate: 0, overflow: 'truncate', show: !crowded},
      data: trace.phases.map((x, k) => [{xAxis: Math.max(x.from, range[0]), name: x.label, itemStyle: {opacity: k % 2 ? .12 : .3},
                                         label: {width: Math.max(0, (Math.min(x.to, range[1]) - Math.max(x.from, range[0])) / (range[1] - range[0]) * 1000)}},
                                        {xAxis: Math.min(x.to, range[1])}]).filter((x) => x[0].xAxis < x[1].xAxis),
    };
    const plain = {type: 'line', showSymbol: false, silent: true, animation: false, connectNulls: false};
    option.series = [
      band(p, shown.rows),
      {...plain, name: 'mean', markArea: area, lineStyle: {width: 1.6, color: colour(p, 0)}, itemStyle: {color: colour(p, 0)}, data: shown.mean},
      {...plain, name: 'volts', xAxisIndex: 1, yAxisIndex: 1, lineStyle: {width: 1.4, color: colour(p, 2)}, itemStyle: {color: colour(p, 2)}, data: shown.volts},
    ];
    if (samples.length) option.series.push({...plain, name: 'single samples', showSymbol: range[1] - range[0] < 8, symbolSize: 4, lineStyle: {width: 1, color: colour(p, 1)}, itemStyle: {color: colour(p, 1)}, data: samples, z: 5});
    if (lines) shown.lines.forEach((row, b) => { if (row.some((x) => x[1] > b + .5)) option.series.push({...plain, name: line_names[b], xAxisIndex: 2, yAxisIndex: 2, step: 'middle', lineStyle: {width: 1.2}, data: row}); });
    option.legend.data = option.series.map((s) => s.name);
    option.legend.bottom = 36;
    option.dataZoom = [
      {type: 'slider', xAxisIndex: option.xAxis.map((_, k) => k), bottom: 8, height: 20, startValue: range[0], endValue: range[1], labelFormatter: clock, filterMode: 'none'},
    ];
    option.axisPointer = {link: [{xAxisIndex: 'all'}]};
    option.tooltip.trigger = 'axis';
    option.tooltip.formatter = (items) => {
      if (!items.length) return '';
      const t = items[0].axisValue;
      const row = shown.rows.reduce((best, x) => (Math.abs(x[0] - t) < Math.abs(best[0] - t) ? x : best), shown.rows[0]);
      const phase = trace.phases.find((x) => x.from <= t && t < x.to);
      const sample = samples.length ? samples.reduce((best, x) => (x[1] !== null && Math.abs(x[0] - t) < Math.abs(best[0] - t) ? x : best), samples[0]) : null;
      return clock(t) + (phase ? ', ' + escape(phase.label) : '') + '<br>mean <b>' + figure(row[2]) + '</b> W, ' + figure(row[1]) + ' to ' + figure(row[3]) + ' W<br>' +
        figure(row[4]) + ' V' + (sample && Math.abs(sample[0] - t) < 1 ? '<br>sample <b>' + figure(sample[1]) + '</b> W' : '');
    };
    const host = document.getElementById('chart-trace');
    const held = samples.length ? 'single samples where the page holds them, else ' : '';
    const words = 'Shown: ' + held + 'bins of ' + clock(shown.step * trace.bin) + ', from ' + clock(range[0]) + ' to ' + clock(range[1]) + '.';
    document.getElementById('trace-shown').textContent = words;
    host.dataset.samples = String(samples.filter((x) => x[1] !== null).length);
    host.dataset.bins = String(shown.rows.length);
    return option;
  }

  if (trace) {
    const end = trace.mean.length * trace.bin;
    draw('chart-trace', trace_option);
    const mine = charts[charts.length - 1].chart;
    const show = (from, to) => {
      const length = Math.min(Math.max(to - from, 0.2), end);
      from = Math.min(Math.max(0, from), end - length);
      range = [from, from + length];
      mine.setOption(trace_option(), {replaceMerge: ['series']});
    };
    let pending = 0;
    mine.on('datazoom', () => {
      const zoom = mine.getOption().dataZoom[0];
      if (!measured(zoom.startValue) || !measured(zoom.endValue)) return;
      if (Math.abs(zoom.startValue - range[0]) < 1e-6 && Math.abs(zoom.endValue - range[1]) < 1e-6) return;
      clearTimeout(pending);
      const a = zoom.startValue, b = zoom.endValue;
      pending = setTimeout(() => show(a, b), 60);
    });
    const element = document.getElementById('chart-trace');
    element.tabIndex = 0;
    const zoom_at = (share, factor) => {
      const length = (range[1] - range[0]) * factor, at = range[0] + share * (range[1] - range[0]);
      show(at - share * length, at + (1 - share) * length);
    };
    element.addEventListener('wheel', (event) => {
      if (!event.ctrlKey && document.activeElement !== element) return;  // the page scrolls until the chart is asked
      event.preventDefault();
      const box = element.getBoundingClientRect();
      zoom_at(Math.min(1, Math.max(0, (event.clientX - box.left - 64) / (box.width - 82))), event.deltaY > 0 ? 1.25 : 0.8);
    }, {passive: false});
    element.addEventListener('keydown', (event) => {
      const step = (range[1] - range[0]) / 4;
      const actions = {ArrowLeft: () => show(range[0] - step, range[1] - step), ArrowRight: () => show(range[0] + step, range[1] + step),
                       '+': () => zoom_at(.5, .5), '=': () => zoom_at(.5, .5), '-': () => zoom_at(.5, 2), '0': () => show(0, end)};
      if (!actions[event.key]) return;
      event.preventDefault();
      actions[event.key]();
    });
    const list = document.getElementById('trace-place');
    const places = [[0, end]];
    const add = (group, name, from, to) => {
      const option = document.createElement('option');
      option.textContent = name;
      option.value = String(places.length);
      places.push([from, to]);
      group.appendChild(option);
    };
    const phases = document.createElement('optgroup'), windows = document.createElement('optgroup');
    phases.label = 'Phases';
    windows.label = 'Single samples';
    trace.phases.forEach((x) => add(phases, x.label, x.from - (x.to - x.from) * .02, x.to + (x.to - x.from) * .02));
    trace.windows.forEach((x) => add(windows, clock(x.from) + ': ' + x.why, x.from, x.to));
    list.append(phases, windows);
    list.addEventListener('change', () => show(...places[Number(list.value)]));
    page.trace_show = show;  // for the browser's test and the curious
  }

  // ------------------------------------------------------------------------------------------------ against position
  (data.position || []).forEach((x, number) => {
    draw('chart-position-' + number, () => {
      const p = palette();
      const option = frame(p, x.label + ' against position');
      option.xAxis = axis(p, 'GB', {type: 'value', nameLocation: 'middle', nameGap: 28, min: 0, axisLabel: {color: p.soft, fontSize: 12, formatter: tick}, splitLine: {show: false}});
      option.yAxis = [value_axis(p, 'MB/s'), Object.assign(value_axis(p, 'W'), {position: 'right', splitLine: {show: false}})];
      option.grid.right = 30;
      const plain = {type: 'line', showSymbol: false, animation: false};
      option.series = [
        {...plain, name: 'MB/s', lineStyle: {width: 1.8, color: colour(p, 0)}, itemStyle: {color: colour(p, 0)}, data: x.points.map((y) => [y[0], y[1]]),
         markLine: {silent: true, symbol: 'none', lineStyle: {color: p.ink, type: 'dashed'}, label: {formatter: (item) => 'cliff at ' + figure(item.value) + ' GB', color: p.ink},
                    data: x.changes.map((at) => ({xAxis: at}))}},
        {...plain, name: 'W', yAxisIndex: 1, lineStyle: {width: 1.4, color: colour(p, 1)}, itemStyle: {color: colour(p, 1)}, data: x.points.map((y) => [y[0], y[2]])},
      ];
      option.tooltip.trigger = 'axis';
      option.tooltip.formatter = (items) => figure(items[0].axisValue) + ' GB' + items.map((i) => '<br>' + i.marker + '<b>' + figure(i.value[1]) + '</b> ' + escape(i.seriesName)).join('');
      return option;
    });
  });
  page.done();
})();
