// Draws the charts of a comparison: bars of each score in three panels, and power against performance of all runs in one plot.
'use strict';
(function () {
  const {data, symbols, escape, measured, figure, tick, palette, colour, frame, axis, draw} = page;

  const panels = [['performance', 'MB/s', 'megabytes_per_second', null], ['power efficiency', 'MB/s/W', 'efficiency', 'efficiency_u'],
                  ['average power', 'W', 'watts', null]];

  function bars_of(score) {
    return () => {
      const p = palette();
      const option = frame(p, score.name);
      // The names stand left of the first panel only, so its place is in pixels; containLabel would move its bars off the others' lines.
      const left = [190, '45%', '74%'], right = ['58%', '29%', '1%'];
      option.legend = {show: false};
      option.title = panels.map((panel, k) => ({text: panel[0] + ' [' + panel[1] + ']', left: left[k], top: 4,
                                                textStyle: {color: p.soft, fontSize: 12, fontWeight: 'normal'}}));
      option.graphic.forEach((g) => { g.top = undefined; g.bottom = 4; });
      option.grid = panels.map((panel, k) => ({left: left[k], right: right[k], top: 30, bottom: 44}));
      option.xAxis = panels.map((panel, k) => axis(p, '', {type: 'value', min: 0, gridIndex: k, splitNumber: 3,
                                                             axisLabel: {color: p.soft, fontSize: 11, formatter: tick, hideOverlap: true}}));
      // The first run on top, as it was named first.
      option.yAxis = panels.map((panel, k) => axis(p, '', {
        type: 'category', inverse: true, gridIndex: k, data: data.runs, splitLine: {show: false},
        axisLabel: {show: k === 0, color: p.ink, fontSize: 12, width: 176, overflow: 'truncate'}}));
      option.series = [];
      panels.forEach((panel, k) => {
        option.series.push({
          type: 'bar', name: panel[0], xAxisIndex: k, yAxisIndex: k, barMaxWidth: 22,
          data: score.runs.map((run, i) => ({value: measured(run[panel[2]]) ? run[panel[2]] : null, itemStyle: {color: colour(p, i)}})),
          label: {show: true, position: 'insideLeft', color: p.page, fontSize: 11, fontWeight: 600, formatter: (item) => figure(item.value)},
        });
        if (!panel[3]) return;
        const known = score.runs.map((run, i) => [i, run[panel[2]], run[panel[3]]]).filter((x) => measured(x[1]) && measured(x[2]));
        option.series.push({
          type: 'custom', name: 'U', xAxisIndex: k, yAxisIndex: k, silent: true, tooltip: {show: false}, z: 3, encode: {x: [1, 2], y: 0},
          data: known.map((x) => [x[0], x[1] - x[2], x[1] + x[2]]),
          renderItem: (params, api) => {
            const a = api.coord([api.value(1), api.value(0)]), b = api.coord([api.value(2), api.value(0)]);
            const line = (x1, y1, x2, y2) => ({type: 'line', shape: {x1, y1, x2, y2}, style: {stroke: p.ink, lineWidth: 1.5}});
            return {type: 'group', children: [line(a[0], a[1], b[0], b[1]), line(a[0], a[1] - 5, a[0], a[1] + 5), line(b[0], b[1] - 5, b[0], b[1] + 5)]};
          },
        });
      });
      option.tooltip.formatter = (item) => {
        const run = score.runs[item.dataIndex];
        return escape(data.runs[item.dataIndex]) + panels.map((panel) => '<br>' + panel[0] + '&ensp;<b>' + figure(run[panel[2]]) +
          (panel[3] && measured(run[panel[3]]) ? ' \u00b1 ' + figure(run[panel[3]]) : '') + '</b> ' + panel[1]).join('');
      };
      return option;
    };
  }

  function curve_of(curve) {
    return () => {
      const p = palette();
      const option = frame(p, 'Power against performance, ' + curve.name);
      option.xAxis = axis(p, 'MB/s', {type: 'value', min: 0, nameLocation: 'middle', nameGap: 28,
                                      axisLabel: {color: p.soft, fontSize: 12, formatter: tick}});
      option.yAxis = axis(p, 'W', {type: 'value', min: 0, axisLabel: {color: p.soft, fontSize: 12, formatter: tick}, splitNumber: 5});
      option.series = data.runs.map((name, k) => {
        const points = curve.runs[k].filter((x) => measured(x.megabytes_per_second) && measured(x.watts));
        return {
          type: 'line', name: name, symbol: symbols[k % symbols.length], symbolSize: 8, itemStyle: {color: colour(p, k)},
          lineStyle: {width: 2, color: colour(p, k), type: k >= 8 ? 'dashed' : 'solid'},
          data: points.map((x) => ({value: [x.megabytes_per_second, x.watts], point: x})),
          label: {show: points.length <= 8, position: 'bottom', color: p.soft, fontSize: 10, formatter: (item) => item.data.point.name},
          labelLayout: {hideOverlap: true},
        };
      });
      option.tooltip.trigger = 'item';
      option.tooltip.formatter = (item) => escape(item.seriesName) + ', ' + escape(item.data.point.name) + '<br><b>' + figure(item.value[0]) +
        '</b> MB/s, <b>' + figure(item.value[1]) + (measured(item.data.point.watts_u) ? ' \u00b1 ' + figure(item.data.point.watts_u) : '') + '</b> W';
      return option;
    };
  }

  data.scores.forEach((score, k) => draw('chart-score-' + k, bars_of(score)));
  data.curves.forEach((curve, k) => draw('chart-curve-' + k, curve_of(curve)));
})();
