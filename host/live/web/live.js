// The live page: columns as they come, or the parts of a recording that are asked for. Everything from elsewhere is put into the
// page as text.
'use strict';
(function () {
  const {data, escape, measured, figure, tick, palette, colour, frame, axis, draw} = page;
  const replay = data.replay;
  const most_columns = 60000;  // ten minutes; the page keeps no more
  const most_drawn = 1000;
  const columns = [], work = [], marks = [];  // [s, lowest, mean, highest, volts], [s, MB/s, IOPS], {at, text}
  let shown = replay ? [replay.begin, replay.end] : [0, 60];
  let follow = !replay, length = 60, span = null, chart = null, view = null, state = {}, skipped = 0;
  const by_id = (id) => document.getElementById(id);
  const last = () => (columns.length ? columns[columns.length - 1][0] : 0);

  // ------------------------------------------------------------------------------------------------ connection
  let socket = null;
  function connect() {
    socket = new WebSocket('ws://' + location.host + '/socket' + location.search);
    socket.onopen = () => { tell(); if (replay) ask(); };
    socket.onmessage = (event) => take(JSON.parse(event.data));
    socket.onclose = () => { by_id('state').textContent = 'the connection is gone; trying again'; setTimeout(connect, 1000); };
  }
  const send = (message) => { if (socket && socket.readyState === 1) socket.send(JSON.stringify(message)); };
  const ask = () => send({do: 'view', from: shown[0], to: shown[1], columns: most_drawn});

  function take(message) {
    if (message.refused) by_id('state').textContent = message.refused;
    if (message.view) view = message.view;
    if (message.skipped) skipped += message.skipped;
    for (const c of message.columns || []) {
      // After a new connection what is known already comes again.
      if (!columns.length || c[0] > last()) columns.push(c);
    }
    if (columns.length > most_columns) columns.splice(0, columns.length - most_columns);
    for (const w of message.work || []) if (!work.length || w[0] > work[work.length - 1][0]) work.push(w);
    if (work.length > most_columns / 10) work.splice(0, work.length - most_columns / 10);
    for (const m of message.marks || []) if (!marks.some((x) => x.at === m.at && x.text === m.text)) add_mark(m);
    if (message.status) state = message.status;
    page.live.messages += 1;
    schedule();
  }
  function add_mark(m) {
    marks.push(m);
    const item = document.createElement('li');
    item.textContent = m.at.toFixed(2) + ' s: ' + m.text;
    by_id('marks').appendChild(item);
  }

  // ------------------------------------------------------------------------------------------------ what is drawn
  function first_after(list, t) {
    let a = 0, b = list.length;
    while (a < b) { const m = (a + b) >> 1; if (list[m][0] < t) a = m + 1; else b = m; }
    return a;
  }
  // At most `most_drawn` columns of the live history; none hides another.
  function merged(from, to) {
    const a = Math.max(0, first_after(columns, from) - 1), b = Math.min(columns.length, first_after(columns, to) + 1);
    const step = Math.max(1, Math.ceil((b - a) / most_drawn)), out = [];
    for (let k = a; k < b; k += step) {
      const part = columns.slice(k, Math.min(k + step, b));
      const mean = (i) => part.reduce((sum, c) => sum + c[i], 0) / part.length;
      if (out.length && part[0][0] - columns[k - 1][0] > .2) out.push([part[0][0], null, null, null, null]);  // a hole
      out.push([(part[0][0] + part[part.length - 1][0]) / 2, Math.min(...part.map((c) => c[1])), mean(2), Math.max(...part.map((c) => c[3])), mean(4)]);
    }
    return out;
  }
  const rows = () => (replay ? (view ? view.columns : []) : merged(shown[0], shown[1]));

  function option() {
    const p = palette();
    const o = frame(p, 'Live power');
    const list = rows(), left = 78, right = 18;
    const panels = data.has_work ? 3 : 2;
    o.grid = [{left, right, top: 28, bottom: data.has_work ? 300 : 190}, {left, right, height: 90, bottom: data.has_work ? 180 : 70}];
    if (data.has_work) o.grid.push({left, right, height: 90, bottom: 60});
    o.xAxis = o.grid.map((g, k) => axis(p, '', {type: 'value', min: shown[0], max: shown[1], gridIndex: k, splitLine: {show: false},
      axisLabel: {show: k === panels - 1, color: p.soft, fontSize: 11, hideOverlap: true, formatter: (v) => Number(v.toFixed(5)) + ' s'}}));
    const value = (k, name, more) => axis(p, name, Object.assign({type: 'value', gridIndex: k, nameLocation: 'middle', nameGap: 56, splitNumber: k ? 2 : 5,
      axisLabel: {color: p.soft, fontSize: 11, formatter: k === 1 ? (v) => String(Number(v.toFixed(4))) : tick}}, more));
    o.yAxis = [value(0, 'W', {min: replay && view && view.samples ? undefined : 0, scale: Boolean(replay && view && view.samples)}), value(1, 'V', {scale: true})];
    if (data.has_work) o.yAxis.push(value(2, 'MB/s', {min: 0}));
    o.axisPointer = {link: [{xAxisIndex: 'all'}]};
    const places = replay ? replay.phases.filter((x) => x.end > shown[0] && x.begin < shown[1] && x.end - x.begin > (shown[1] - shown[0]) / 400) : [];
    const areas = places.map((x) => [{xAxis: Math.max(x.begin, shown[0]), name: x.label, itemStyle: {color: colour(p, 0), opacity: .07},
      label: {show: (Math.min(x.end, shown[1]) - Math.max(x.begin, shown[0])) / (shown[1] - shown[0]) > .06, color: p.soft, fontSize: 10, position: 'insideTop', overflow: 'truncate', width: 120}},
      {xAxis: Math.min(x.end, shown[1])}]);
    if (span) areas.push([{xAxis: Math.max(span[0], shown[0]), name: '', itemStyle: {color: colour(p, 4), opacity: .22}}, {xAxis: Math.min(span[1], shown[1])}]);
    const all_marks = (replay ? replay.marks.slice(0, 100) : marks).filter((m) => m.at >= shown[0] && m.at <= shown[1]);
    const samples = Boolean(replay && view && view.samples);
    o.series = [
      {id: 'band', type: 'custom', name: 'lowest to highest', xAxisIndex: 0, yAxisIndex: 0, silent: true, clip: true, tooltip: {show: false}, z: 1, encode: {x: 0, y: [1, 2]},
       itemStyle: {color: colour(p, 0)}, data: list.filter((c) => c[1] !== null).map((c) => [c[0], c[1], c[3]]),
       renderItem: (params, api) => {
         const a = api.coord([api.value(0), api.value(2)]), b = api.coord([api.value(0), api.value(1)]);
         const width = Math.max(1, (params.coordSys.width / Math.max(20, list.length)) * 1.1);
         return {type: 'rect', shape: {x: a[0] - width / 2, y: a[1], width: width, height: Math.max(.5, b[1] - a[1])}, style: {fill: colour(p, 0), opacity: .25}};
       }},
      {id: 'mean', type: 'line', name: samples ? 'single samples' : 'mean power', xAxisIndex: 0, yAxisIndex: 0, showSymbol: samples && list.length < 160, symbolSize: 4, z: 3,
       data: list.map((c) => [c[0], c[2]]), lineStyle: {width: 1.5, color: colour(p, samples ? 1 : 0)}, itemStyle: {color: colour(p, samples ? 1 : 0)},
       markArea: {silent: true, data: areas},
       markLine: {silent: true, symbol: 'none', lineStyle: {color: p.soft, type: 'dotted'}, data: all_marks.map((m) => ({xAxis: m.at, name: m.text, label: {formatter: (i) => i.name, color: p.ink, fontSize: 10, position: 'insideEndTop'}}))}},
      {id: 'volts', type: 'line', name: 'voltage', xAxisIndex: 1, yAxisIndex: 1, symbol: 'none', data: list.map((c) => [c[0], c[4]]), lineStyle: {width: 1.5, color: colour(p, 2)}, itemStyle: {color: colour(p, 2)}},
    ];
    if (data.has_work) o.series.push({id: 'speed', type: 'line', name: 'MB/s', xAxisIndex: 2, yAxisIndex: 2, symbol: 'none', data: work.filter((w) => w[0] >= shown[0] - 1 && w[0] <= shown[1] + 1).map((w) => [w[0], w[1]]),
                                      areaStyle: {color: colour(p, 3), opacity: .15}, lineStyle: {width: 1.5, color: colour(p, 3)}, itemStyle: {color: colour(p, 3)}});
    o.legend.data = o.series.map((s) => s.name);
    o.tooltip.trigger = 'axis';
    o.tooltip.formatter = (items) => (items.length ? Number(items[0].axisValue.toFixed(5)) + ' s' : '') + items.filter((i) => i.seriesId !== 'band' && measured(i.value[1])).map(
      (i) => '<br>' + i.marker + escape(i.seriesName) + '&ensp;<b>' + figure(i.value[1]) + '</b> ' + (i.seriesId === 'volts' ? 'V' : i.seriesId === 'speed' ? 'MB/s' : 'W')).join('');
    return o;
  }

  // ------------------------------------------------------------------------------------------------ figures in words
  function card(name, value, unit) { return '<section class="card"><h3>' + name + '</h3><p class="big">' + escape(value) + ' <small>' + unit + '</small></p></section>'; }
  function averages_of(from, to) {
    const list = replay ? (view ? view.columns : []) : columns;
    const inside = list.filter((c) => c[0] >= from && c[0] <= to && c[2] !== null);
    if (!inside.length) return null;
    const mean = (rows_of, i) => rows_of.reduce((sum, c) => sum + c[i], 0) / rows_of.length;
    const done = work.filter((w) => w[0] >= from && w[0] <= to);
    return {watts: mean(inside, 2), lowest: Math.min(...inside.map((c) => c[1])), highest: Math.max(...inside.map((c) => c[3])), volts: mean(inside, 4), seconds: to - from,
            speed: done.length ? mean(done, 1) : null, iops: done.length ? mean(done, 2) : null, columns: inside.length};
  }
  function words() {
    if (!replay) {
      const now = averages_of(last() - 1, last());
      by_id('now').innerHTML = card('Power, last second', figure(now && now.watts), 'W') + card('Voltage', figure(now && now.volts), 'V') +
        (data.has_work ? card('Speed', figure(now && now.speed), 'MB/s') + card('Operations', figure(now && now.iops), 'IOPS') : '');
      by_id('record').textContent = state.recording ? 'Stop recording' : 'Start recording';
    }
    const from = span ? span[0] : shown[0], to = span ? span[1] : shown[1];
    const a = averages_of(from, to);
    const row = (name, value, unit) => '<tr><th scope="row">' + name + '</th><td>' + escape(value) + ' ' + unit + '</td></tr>';
    by_id('averages').tBodies[0].innerHTML = a ? row('Mean power', figure(a.watts), 'W') + row('Lowest, highest', figure(a.lowest) + ', ' + figure(a.highest), 'W') +
      row('Energy', figure(a.watts * a.seconds), 'J') + row('Voltage', figure(a.volts), 'V') + (measured(a.speed) ? row('Speed', figure(a.speed), 'MB/s') + row('Operations', figure(a.iops), 'IOPS') +
      row('Efficiency', figure(a.speed / a.watts), 'MB/s/W') : '') : row('Nothing is known of', Number(from.toFixed(3)) + ' s to ' + Number(to.toFixed(3)), 's');
    for (const [id, value] of [['from', from], ['to', to]]) if (document.activeElement !== by_id(id)) by_id(id).value = String(Number(value.toFixed(5)));
    by_id('shown').textContent = replay ? (view && view.samples ? 'Single samples: ' + view.columns.length : 'Columns of ' + figure((shown[1] - shown[0]) / most_drawn * 1e3) + ' ms or a bin of the run') :
      skipped ? 'This browser was too slow: ' + skipped + ' columns were skipped here; a recording has them.' : '';
    tell();
  }
  function tell() {
    if (replay) { by_id('state').textContent = 'replay, ' + figure(replay.end - replay.begin) + ' s'; return; }
    by_id('state').textContent = state.trouble ? state.trouble : (state.streaming ? 'live' : 'waiting for the rig') + ', ' + (state.samples || 0).toLocaleString('en-US') + ' samples, ' + (state.lost || 0) + ' lost' +
      (state.recording ? ', recording to ' + state.directory : state.directory ? ', recorded: ' + state.directory : '');
  }

  // Ten pictures a second at the most, none while nobody looks.
  let due = false;
  function schedule() {
    if (due || !chart) return;
    due = true;
    setTimeout(() => {
      due = false;
      if (follow) shown = [Math.max(0, last() - length), Math.max(length, last())];
      if (document.hidden) return;
      chart.setOption(option(), {replaceMerge: ['series']});
      words();
      page.live.drawn += 1;
    }, 100);
  }
  function show(from, to) {
    const begin = replay ? replay.begin : columns.length ? columns[0][0] : 0, end = replay ? replay.end : Math.max(last(), length);
    const size = Math.min(Math.max(to - from, 100e-6), end - begin);
    const start = Math.min(Math.max(from, begin), end - size);
    shown = [start, start + size];
    set_follow(false);
    if (replay) ask();
    schedule();
  }
  function set_follow(on) {
    if (replay) return;
    follow = on;
    by_id('pause').textContent = on ? 'Pause' : 'Follow';
    by_id('pause').setAttribute('aria-pressed', String(!on));
  }
  function select(from, to) {
    span = from === null ? null : [Math.min(from, to), Math.max(from, to)];
    schedule();
  }

  // ------------------------------------------------------------------------------------------------ hands
  const actions = {
    in: () => show(shown[0] + (shown[1] - shown[0]) / 4, shown[1] - (shown[1] - shown[0]) / 4), out: () => show(shown[0] - (shown[1] - shown[0]) / 2, shown[1] + (shown[1] - shown[0]) / 2),
    left: () => show(shown[0] - (shown[1] - shown[0]) / 4, shown[1] - (shown[1] - shown[0]) / 4), right: () => show(shown[0] + (shown[1] - shown[0]) / 4, shown[1] + (shown[1] - shown[0]) / 4),
    all: () => { if (replay) show(replay.begin, replay.end); else set_follow(true); }, none: () => select(null)};
  document.querySelectorAll('button[data-zoom]').forEach((b) => b.addEventListener('click', () => actions[b.dataset.zoom]()));
  const element = by_id('chart-live');
  element.tabIndex = 0;
  const keys = {'+': 'in', '=': 'in', '-': 'out', ArrowLeft: 'left', ArrowRight: 'right', 0: 'all', Home: 'all', Escape: 'none'};
  element.addEventListener('keydown', (event) => {
    if (!keys[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    actions[keys[event.key]]();
  });
  element.addEventListener('wheel', (event) => {
    if (!event.ctrlKey && document.activeElement !== element) return;  // the page scrolls until the chart is asked
    event.preventDefault();
    const at = chart.convertFromPixel({xAxisIndex: 0}, event.offsetX), factor = event.deltaY > 0 ? 1.25 : .8;
    show(at - (at - shown[0]) * factor, at + (shown[1] - at) * factor);
  }, {passive: false});
  let held = null;
  element.addEventListener('pointerdown', (event) => { held = chart.convertFromPixel({xAxisIndex: 0}, event.offsetX); element.setPointerCapture(event.pointerId); });
  element.addEventListener('pointermove', (event) => { if (held !== null) select(held, chart.convertFromPixel({xAxisIndex: 0}, event.offsetX)); });
  element.addEventListener('pointerup', () => { held = null; });
  for (const id of ['from', 'to']) by_id(id).addEventListener('change', () => {
    const a = Number(by_id('from').value), b = Number(by_id('to').value);
    if (measured(a) && measured(b) && b > a) select(a, b);
  });
  if (replay) {
    const places = [[replay.begin, replay.end]];
    const add = (name) => { const item = document.createElement('option'); item.value = String(places.length - 1); item.textContent = name; by_id('jump').appendChild(item); };
    add('the whole run');
    for (const x of replay.phases) { places.push([x.begin, x.end]); add(x.label); }
    by_id('jump').addEventListener('change', () => show(...places[Number(by_id('jump').value)]));
    replay.marks.slice(0, 200).forEach((m) => { const item = document.createElement('li'); item.textContent = m.at.toFixed(3) + ' s: ' + m.text; by_id('marks').appendChild(item); });
  } else {
    by_id('span').addEventListener('change', () => { length = Number(by_id('span').value); set_follow(true); schedule(); });
    by_id('pause').addEventListener('click', () => { set_follow(!follow); schedule(); });
    by_id('record').addEventListener('click', () => send({do: state.recording ? 'stop' : 'start'}));
    const set_mark = () => { const text = by_id('mark').value.trim(); if (text) send({do: 'mark', text: text}); by_id('mark').value = ''; };
    by_id('set-mark').addEventListener('click', set_mark);
    by_id('mark').addEventListener('keydown', (event) => { if (event.key === 'Enter') set_mark(); });
  }

  page.live = {messages: 0, drawn: 0, columns, work, marks, show, select, averages_of, view: () => view, shown: () => shown, status: () => state, skipped: () => skipped};
  draw('chart-live', option, (drawn) => { chart = drawn; });
  connect();
})();
