// Draws the charts of a report. Everything that is shown here also stands in the page's table, which needs no script.
'use strict';
(function () {
  const {data, symbols, escape, measured, figure, tick, time, palette, log_axis, colour, frame, axis, value_axis, draw, redraw} = page;

  // ------------------------------------------------------------------------------------------------ against queue depth
  const by_depth = data.groups.some((g) => g.points.length > 1) && data.groups.every((g) => g.points.every((x) => x.depth));
  const places = by_depth
    ? [...new Set(data.groups.flatMap((g) => g.points.map((x) => x.depth)))].sort((a, b) => a - b).map(String)
    : data.groups.flatMap((g) => g.points.map((x) => x.label));
  const place = (x) => places.indexOf(by_depth ? String(x.depth) : x.label);

  // The band of U and, at each point, its whiskers: a band thinner than a line would be taken for no band.
  function band(p, k, points, pick, u) {
    const ends = points.filter((x) => measured(pick(x)) && measured(u(x)));
    return {
      type: 'custom', name: data.groups[k].name, silent: true, z: 1, tooltip: {show: false}, itemStyle: {color: colour(p, k)},
      data: ends.map((x) => [place(x), pick(x) - u(x), pick(x) + u(x)]), encode: {x: 0, y: [1, 2]},
      renderItem: (params, api) => {
        const at = (row, column) => api.coord([row[0], row[column]]);
        const row = [api.value(0), api.value(1), api.value(2)];
        const low = at(row, 1), high = at(row, 2), c = colour(p, k);
        const stroke = {stroke: c, lineWidth: 1.5};
        const line = (x1, y1, x2, y2) => ({type: 'line', shape: {x1, y1, x2, y2}, style: stroke});
        const children = [line(low[0], low[1], high[0], high[1]), line(low[0] - 5, low[1], low[0] + 5, low[1]),
                          line(high[0] - 5, high[1], high[0] + 5, high[1])];
        if (params.dataIndexInside === 0 && by_depth) {
          const rows = ends.map((x) => [place(x), pick(x) - u(x), pick(x) + u(x)]);
          const outline = rows.map((r) => at(r, 2)).concat(rows.slice().reverse().map((r) => at(r, 1)));
          children.unshift({type: 'polygon', shape: {points: outline}, style: {fill: c, opacity: .22}});
        }
        return {type: 'group', children: children};
      },
    };
  }

  function against_depth(title, unit, pick, u) {
    return () => {
      const p = palette();
      const option = frame(p, title);
      option.xAxis = axis(p, by_depth ? 'queue depth' : '', {
        type: 'category', data: places, nameLocation: 'middle', nameGap: 28, splitLine: {show: false}, boundaryGap: !by_depth || places.length < 2,
        axisLabel: {color: p.soft, fontSize: 12, interval: by_depth ? 0 : 'auto', width: by_depth ? undefined : 110, overflow: 'truncate'},
      });
      if (!by_depth) { option.xAxis.axisLabel.interval = 0; option.xAxis.axisLabel.rotate = places.length > 4 ? 30 : 0; }
      option.yAxis = value_axis(p, unit(), logarithmic ? data.groups.flatMap((g) => g.points.map(pick)) : null);
      option.series = [];
      data.groups.forEach((g, k) => {
        const row = places.map(() => null);
        g.points.forEach((x) => { row[place(x)] = measured(pick(x)) ? pick(x) : null; });
        option.series.push({
          type: by_depth ? 'line' : 'bar', name: g.name, data: row, symbol: symbols[k % symbols.length], symbolSize: 8, connectNulls: true, z: 3,
          barGap: '-100%', barMaxWidth: 46, itemStyle: {color: colour(p, k)},
          lineStyle: {width: 2.5, color: colour(p, k), type: k >= 8 ? 'dashed' : 'solid'},
        });
        if (u) option.series.push(band(p, k, g.points, pick, u));
      });
      option.tooltip.trigger = 'axis';
      option.tooltip.formatter = (items) => {
        const at = items.length ? items[0].dataIndex : -1;
        const head = by_depth ? 'queue depth ' + escape(places[at]) : escape(places[at] || '');
        const lines = data.groups.map((g, k) => {
          const x = g.points.find((y) => place(y) === at);
          if (!x || !measured(pick(x))) return '';
          const doubt = u && measured(u(x)) ? ' \u00b1 ' + figure(u(x)) : '';
          return '<br><span style="color:' + colour(p, k) + '">\u25cf</span> ' + escape(g.name) + '&ensp;<b>' + figure(pick(x)) + doubt + '</b> ' + escape(unit());
        });
        return head + lines.join('');
      };
      return option;
    };
  }

  function power_against_speed(title) {
    return () => {
      const p = palette();
      const option = frame(p, title);
      const all = data.groups.flatMap((g) => g.points);
      option.xAxis = axis(p, speed_unit(), {...(logarithmic ? log_axis(all.map(speed)) : {type: 'value', min: 0}), nameLocation: 'middle', nameGap: 28,
                                          axisLabel: {color: p.soft, fontSize: 12, formatter: tick}});
      option.yAxis = value_axis(p, 'W', logarithmic ? all.map((x) => x.watts).concat([data.idle_watts]) : null);
      option.series = data.groups.map((g, k) => ({
        type: 'line', name: g.name, symbol: symbols[k % symbols.length], symbolSize: 8, itemStyle: {color: colour(p, k)},
        lineStyle: {width: 2, color: colour(p, k)},
        data: g.points.filter((x) => measured(speed(x)) && measured(x.watts)).map((x) => ({value: [speed(x), x.watts], label_: x.label})),
        label: {show: by_depth && g.points.length <= 8, position: 'bottom', color: p.soft, fontSize: 10, formatter: (item) => g.points.filter(
          (x) => measured(speed(x)) && measured(x.watts))[item.dataIndex].name},
        labelLayout: {hideOverlap: true},
      }));
      if (measured(data.idle_watts) && option.series.length) {
        option.series[0].markLine = {
          silent: true, symbol: 'none', lineStyle: {color: p.soft, type: 'dashed'}, data: [{yAxis: data.idle_watts}],
          label: {formatter: 'idle ' + figure(data.idle_watts) + ' W', position: 'insideEndTop', color: p.soft},
        };
      }
      option.tooltip.trigger = 'item';
      option.tooltip.formatter = (item) => escape(item.data.label_ || item.seriesName) + '<br><b>' + figure(item.value[0]) + '</b> ' + escape(speed_unit()) +
        ', <b>' + figure(item.value[1]) + '</b> W';
      return option;
    };
  }

  // ------------------------------------------------------------------------------------------------ latency percentiles
  const percentiles = [['p50', '50'], ['p90', '90'], ['p99', '99'], ['p99_9', '99.9'], ['p99_99', '99.99'], ['max', 'max']];
  function latency_of(g) {
    return () => {
      const p = palette();
      const option = frame(p, 'Latency percentiles of ' + g.name);
      const values = g.points.flatMap((x) => percentiles.map((c) => x.latency[c[0]]));
      option.xAxis = axis(p, 'percentile', {type: 'category', data: percentiles.map((c) => c[1]), nameLocation: 'middle', nameGap: 28,
                                            splitLine: {show: false}, boundaryGap: false});
      option.yAxis = value_axis(p, '', values);
      option.yAxis.axisLabel.formatter = time;
      option.series = g.points.map((x, k) => ({
        type: 'line', name: x.name, symbol: symbols[k % symbols.length], symbolSize: 7, lineStyle: {width: 2, color: colour(p, k)}, itemStyle: {color: colour(p, k)},
        data: percentiles.map((c) => (measured(x.latency[c[0]]) && x.latency[c[0]] > 0 ? x.latency[c[0]] : null)),
      }));
      option.tooltip.trigger = 'axis';
      option.tooltip.formatter = (items) => 'percentile ' + escape(items[0].axisValue) + items.map(
        (i) => '<br>' + i.marker + escape(i.seriesName) + '&ensp;<b>' + (measured(i.value) ? time(i.value) : '-') + '</b>').join('');
      return option;
    };
  }

  function distribution_of(g, rows) {
    return () => {
      const p = palette();
      const option = frame(p, 'Distribution of the latency of ' + g.name);
      const ends = rows.flatMap((r) => [r.points[0][0], r.points[r.points.length - 1][0] * Math.pow(10, .05)]);
      option.xAxis = axis(p, 'response time', {...log_axis(ends), nameLocation: 'middle', nameGap: 28, splitLine: {show: false}, axisLabel: {color: p.soft, fontSize: 12, formatter: time}});
      option.yAxis = value_axis(p, '% of operations', null);
      option.series = rows.map((r, k) => ({
        type: 'line', name: r.name, step: 'end', symbol: 'none', lineStyle: {width: 1.5, color: colour(p, k)}, itemStyle: {color: colour(p, k)}, areaStyle: {color: colour(p, k), opacity: .08},
        // A step keeps its share to the begin of the next one.
        data: r.points.map((x) => [x[0], 100 * x[1]]).concat([[r.points[r.points.length - 1][0] * Math.pow(10, .05), 0]]),
      }));
      option.tooltip.trigger = 'axis';
      option.tooltip.formatter = (items) => (items.length ? 'from ' + time(items[0].axisValue) : '') + items.map(
        (i) => '<br>' + i.marker + escape(i.seriesName) + '&ensp;<b>' + figure(i.value[1]) + '</b> %').join('');
      return option;
    };
  }

  // ------------------------------------------------------------------------------------------------ page
  let logarithmic = false;
  let words = data.prefer_iops ? 'iops' : 'bytes';
  const speed = (x) => (words === 'iops' ? x.iops : x.megabytes_per_second);
  const speed_unit = () => (words === 'iops' ? 'IOPS' : 'MB/s');
  const work = (x) => (words === 'iops' ? x.iops_per_watt : x.megabytes_per_second_per_watt);
  const work_u = (x) => (words === 'iops' ? x.iops_per_watt_u : x.megabytes_per_second_per_watt_u);

  draw('chart-performance', against_depth('Performance', speed_unit, speed, null));
  draw('chart-power', against_depth('Power', () => 'W', (x) => x.watts, (x) => x.watts_u));
  draw('chart-efficiency', against_depth('Efficiency', () => speed_unit() + '/W', work, work_u));
  draw('chart-cost', power_against_speed('Power against performance'));
  draw('chart-energy', against_depth('Energy of an operation', () => '\u00b5J', (x) => x.microjoules_per_operation, (x) => x.microjoules_per_operation_u));
  data.groups.forEach((g, k) => {
    draw('chart-latency-' + k, latency_of(g));
    if (data.distributions[k] && data.distributions[k].length) draw('chart-distribution-' + k, distribution_of(g, data.distributions[k]));
  });

  document.querySelectorAll('input[name=words]').forEach((input) => {
    input.checked = input.value === words;
    input.addEventListener('change', () => { words = input.value; redraw(); });
  });
  document.querySelectorAll('input[name=scale]').forEach((input) => {
    input.checked = (input.value === 'log') === logarithmic;
    input.addEventListener('change', () => { logarithmic = input.value === 'log'; redraw(); });
  });
})();
