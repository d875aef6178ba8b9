// Draws the charts of a report from the JSON in the page. Everything that is shown here also stands in the page's table, which
// needs no script. Works from a file, offline.
'use strict';
(function () {
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

  // ------------------------------------------------------------------------------------------------ page
  let logarithmic = false;
  let words = data.prefer_iops ? 'iops' : 'bytes';
  const speed = (x) => (words === 'iops' ? x.iops : x.megabytes_per_second);
  const speed_unit = () => (words === 'iops' ? 'IOPS' : 'MB/s');
  const work = (x) => (words === 'iops' ? x.iops_per_watt : x.megabytes_per_second_per_watt);
  const work_u = (x) => (words === 'iops' ? x.iops_per_watt_u : x.megabytes_per_second_per_watt_u);

  function draw(host, option) {
    const element = document.getElementById(host);
    if (!element) return;
    const chart = echarts.init(element, null, {renderer: 'svg'});
    charts.push({chart: chart, option: option, element: element});
    chart.setOption(option());
    const button = element.parentElement.querySelector('button');
    if (button) button.addEventListener('click', () => save(chart, element.dataset.name));
  }
  function save(chart, name) {
    const link = document.createElement('a');
    link.href = chart.getDataURL({type: 'svg'});
    link.download = name + '.svg';
    link.click();
  }
  const redraw = () => charts.forEach((c) => c.chart.setOption(c.option(), true));

  draw('chart-performance', against_depth('Performance', speed_unit, speed, null));
  draw('chart-power', against_depth('Power', () => 'W', (x) => x.watts, (x) => x.watts_u));
  draw('chart-efficiency', against_depth('Efficiency', () => speed_unit() + '/W', work, work_u));
  draw('chart-cost', power_against_speed('Power against performance'));
  data.groups.forEach((g, k) => draw('chart-latency-' + k, latency_of(g)));

  document.querySelectorAll('input[name=words]').forEach((input) => {
    input.checked = input.value === words;
    input.addEventListener('change', () => { words = input.value; redraw(); });
  });
  document.querySelectorAll('input[name=scale]').forEach((input) => {
    input.checked = (input.value === 'log') === logarithmic;
    input.addEventListener('change', () => { logarithmic = input.value === 'log'; redraw(); });
  });
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
  root.dataset.charts = String(charts.length);
})();
