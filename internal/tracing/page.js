"use strict";
// Everything that a server has said is shown by textContent alone.
(() => {
	const data = JSON.parse(document.getElementById("data").textContent);
	const { lines, calls, events, span } = data;
	const $ = (id) => document.getElementById(id);
	const make = (tag, className, text) => {
		const e = document.createElement(tag);
		if (className) e.className = className;
		if (text !== undefined) e.textContent = text;
		return e;
	};
	const time = (ms) => (ms < 1000 ? ms.toFixed(ms < 10 ? 2 : 0) + " ms" : (ms / 1000).toFixed(ms < 10000 ? 2 : 1) + " s");
	const percent = (ms) => (ms / Math.max(span, 0.001)) * 100 + "%";
	const ends = (call) => (call.end === null ? lines[call.line].to : call.end);

	// The timeline: a lane for each line and direction, in which calls that overlap stand below each other.
	const ROW = 18, MARKS = 12, MOST = 30;
	const lanes = lines.flatMap((line, i) => [true, false].map((out) => ({ line: i, out, bars: [], marks: [], ends: [] })));
	const lane = (line, out) => lanes[line * 2 + (out ? 0 : 1)];
	calls.forEach((call, i) => {
		const at = lane(call.line, call.out);
		let row = at.ends.findIndex((end) => end <= call.start);
		if (row < 0) row = at.ends.length < MOST ? at.ends.length : MOST - 1;
		at.ends[row] = Math.max(ends(call), call.start);
		const bar = make("i", "bar " + call.outcome.split(" ")[0]);
		bar.style.left = percent(call.start);
		bar.style.width = percent(ends(call) - call.start);
		bar.style.top = 2 + row * ROW + "px";
		bar.dataset.call = i;
		bar.title = [call.method, call.name, call.end === null ? "" : time(call.end - call.start), call.outcome, call.detail]
			.filter(Boolean).join(" · ");
		call.bar = bar;
		at.bars.push(bar);
	});
	events.forEach((event, i) => {
		if (!event.mark) return;
		const mark = make("i", "mark" + (event.bad ? " bad" : ""));
		mark.style.left = percent(event.at);
		mark.dataset.event = i;
		mark.title = event.title;
		event.bar = mark;
		lane(event.line, event.out).marks.push(mark);
	});
	const inner = $("inner");
	for (const l of lanes) {
		if (!l.bars.length && !l.marks.length) continue;
		const element = make("div", "lane");
		element.append(make("b", "", (l.out ? "→ " : "← ") + lines[l.line].label));
		element.lastChild.title = lines[l.line].about;
		const track = make("div", "track");
		track.append(...l.bars, ...l.marks);
		element.style.height = Math.max(l.ends.length, 1) * ROW + MARKS + "px";
		element.append(track);
		track.style.height = "100%";
		inner.append(element);
	}

	// Zoom and pan: the inner part is as wide as the zoom has it, and the timeline scrolls.
	const timeline = $("timeline"), LABELS = 180, WIDEST = 8e6;
	let zoom = 1;
	const room = () => Math.max(timeline.clientWidth - LABELS, 50);
	function setZoom(to, x = LABELS + room() / 2) {
		const before = room() * zoom, at = (timeline.scrollLeft + x - LABELS) / before;
		zoom = Math.min(Math.max(to, 1), WIDEST / room());
		inner.style.width = zoom === 1 ? "" : LABELS + room() * zoom + "px";
		timeline.scrollLeft = at * room() * zoom - (x - LABELS);
		drawTicks();
	}
	function drawTicks() {
		const width = room() * zoom, per = span / width;
		let step = Math.pow(10, Math.ceil(Math.log10(Math.max(per * 90, 1e-6))));
		for (const part of [5, 2]) if (step / part > per * 90) { step /= part; break; }
		const ticks = [], from = Math.max(Math.floor((timeline.scrollLeft * per) / step), 0);
		for (let n = from; n * step <= span && n < from + 100; n++) {
			const tick = make("span", "", time(n * step));
			tick.style.left = percent(n * step);
			ticks.push(tick);
		}
		$("ticks").replaceChildren(...ticks);
	}
	timeline.addEventListener("scroll", drawTicks);
	window.addEventListener("resize", () => { setZoom(zoom); drawList(); });
	timeline.addEventListener("wheel", (e) => {
		if (!e.ctrlKey && !e.metaKey) return;
		e.preventDefault();
		setZoom(zoom * Math.exp(-e.deltaY / 300), e.clientX - timeline.getBoundingClientRect().left);
	}, { passive: false });
	let drag = null;
	timeline.addEventListener("pointerdown", (e) => {
		if (e.button === 0 && !e.target.closest(".bar, .mark")) drag = { x: e.clientX, left: timeline.scrollLeft };
	});
	window.addEventListener("pointermove", (e) => {
		if (!drag) return;
		timeline.classList.add("drags");
		timeline.scrollLeft = drag.left - (e.clientX - drag.x);
	});
	window.addEventListener("pointerup", () => { drag = null; timeline.classList.remove("drags"); });
	$("closer").addEventListener("click", () => setZoom(zoom * 2));
	$("farther").addEventListener("click", () => setZoom(zoom / 2));
	$("whole").addEventListener("click", () => setZoom(1));

	// The list has elements for the rows that can be seen only.
	const list = $("list"), HEIGHT = 22;
	let shown = events.map((_, i) => i), chosen = -1;
	const label = (e) => (e.at / 1000).toFixed(3).padStart(9) + " " + lines[e.line].label + " " + e.arrow + " " + e.title;
	function drawList() {
		$("rows").style.height = shown.length * HEIGHT + "px";
		const from = Math.max(Math.floor(list.scrollTop / HEIGHT) - 5, 0);
		const to = Math.min(from + Math.ceil(list.clientHeight / HEIGHT) + 10, shown.length);
		const rows = [];
		for (let n = from; n < to; n++) {
			const event = events[shown[n]];
			const row = make("div", "row" + (event.bad ? " bad" : "") + (shown[n] === chosen ? " chosen" : ""), label(event));
			row.style.top = n * HEIGHT + "px";
			row.dataset.event = shown[n];
			row.id = "row" + shown[n];
			row.setAttribute("role", "option");
			row.setAttribute("aria-selected", shown[n] === chosen);
			rows.push(row);
		}
		$("rows").replaceChildren(...rows);
	}
	list.addEventListener("scroll", drawList);

	// The filter: all words must occur in an event, or in the call that it belongs to.
	const texts = events.map(() => null);
	function textOf(i) {
		if (texts[i] === null) {
			const e = events[i];
			texts[i] = [lines[e.line].label, e.kind, e.title, e.message || "", e.text || "", e.error || ""].join("\n").toLowerCase();
		}
		return texts[i];
	}
	function filter() {
		const words = $("filter").value.toLowerCase().split(/\s+/).filter(Boolean), bad = $("bad").checked;
		const has = (i) => words.every((word) => textOf(i).includes(word));
		const ofCall = calls.map((c) => (!bad || c.bad) &&
			(!words.length || words.every((word) => [c.asked, c.answered].some((i) => i >= 0 && textOf(i).includes(word)))));
		shown = [];
		events.forEach((e, i) => {
			const yes = (!bad || e.bad || e.calls.some((c) => calls[c].bad)) && (has(i) || e.calls.some((c) => ofCall[c]));
			if (yes) shown.push(i);
			if (e.bar) e.bar.classList.toggle("off", !yes);
		});
		calls.forEach((c, i) => c.bar.classList.toggle("off", !ofCall[i]));
		$("count").textContent = `${shown.length} of ${events.length} events, ` +
			`${ofCall.filter(Boolean).length} of ${calls.length} calls`;
		list.scrollTop = 0;
		drawList();
	}
	let later = 0;
	$("filter").addEventListener("input", () => { clearTimeout(later); later = setTimeout(filter, 60); });
	$("bad").addEventListener("change", filter);

	// What is chosen: an event, with the call that it belongs to.
	function choose(i, scroll) {
		chosen = i;
		for (const e of document.querySelectorAll(".bar.chosen, .mark.chosen")) e.classList.remove("chosen");
		const event = events[i], call = event.calls.length ? calls[event.calls[0]] : null;
		(call ? call.bar : event.bar)?.classList.add("chosen");
		const n = shown.indexOf(i);
		if (scroll && n >= 0) {
			const top = n * HEIGHT;
			if (top < list.scrollTop) list.scrollTop = top;
			if (top + HEIGHT > list.scrollTop + list.clientHeight) list.scrollTop = top + HEIGHT - list.clientHeight;
		}
		drawList();
		list.setAttribute("aria-activedescendant", "row" + i);
		detail(event, call);
	}
	document.addEventListener("click", (e) => {
		const at = e.target.closest("[data-call], [data-event]");
		if (!at) return;
		choose(at.dataset.call === undefined ? +at.dataset.event : calls[at.dataset.call].asked, true);
	});
	list.addEventListener("keydown", (e) => {
		const n = shown.indexOf(chosen), page = Math.max(Math.floor(list.clientHeight / HEIGHT) - 1, 1);
		const to = {
			ArrowDown: n + 1, ArrowUp: Math.max(n - 1, 0), PageDown: n + page, PageUp: n - page, Home: 0, End: shown.length - 1,
		}[e.key];
		if (e.key === "Enter" && chosen >= 0) {
			const call = calls[events[chosen].calls[0]];
			const other = call && (call.asked === chosen ? call.answered : call.asked);
			if (call && other >= 0) choose(other, true);
		} else if (to !== undefined && shown.length) {
			choose(shown[Math.min(Math.max(to, 0), shown.length - 1)], true);
		} else return;
		e.preventDefault();
	});
	document.addEventListener("keydown", (e) => {
		if (e.target.matches("input[type=search]")) {
			if (e.key === "Escape") { e.target.value = ""; filter(); list.focus(); }
			if (e.key === "ArrowDown" || e.key === "Enter") list.focus();
			return;
		}
		if (e.ctrlKey || e.metaKey || e.altKey) return;
		const act = { "/": () => $("filter").focus(), "+": () => setZoom(zoom * 2), "-": () => setZoom(zoom / 2), 0: () => setZoom(1) };
		if (!act[e.key]) return;
		e.preventDefault();
		act[e.key]();
	});

	// pretty indents JSON without reading it, so that digits and escapes stay as they were sent.
	function pretty(text) {
		let out = "", depth = 0;
		const line = () => "\n" + "  ".repeat(Math.min(depth, 100));
		for (let i = 0; i < text.length; i++) {
			const c = text[i];
			if (c === '"') {
				let j = i + 1;
				while (j < text.length && text[j] !== '"') j += text[j] === "\\" ? 2 : 1;
				out += text.slice(i, j + 1);
				i = j;
			} else if (c === "{" || c === "[") {
				const rest = /[^ \t\r\n]/g;
				rest.lastIndex = i + 1;
				const next = rest.exec(text);
				if (next && next[0] === (c === "{" ? "}" : "]")) {
					out += c + next[0];
					i = next.index;
				} else {
					depth++;
					out += c + line();
				}
			} else if (c === "}" || c === "]") {
				depth = Math.max(depth - 1, 0);
				out += line() + c;
			} else if (c === ",") out += c + line();
			else if (c === ":") out += ": ";
			else if (!/\s/.test(c)) out += c;
		}
		return out;
	}

	const facts = (pairs) => {
		const dl = make("dl");
		for (const [name, value] of pairs) if (value !== "" && value !== null && value !== undefined) {
			dl.append(make("dt", "", name), make("dd", "", String(value)));
		}
		return dl;
	};
	function headers(title, all) {
		if (!all) return [];
		const text = Object.keys(all).sort().flatMap((name) => all[name].map((value) => name + ": " + value)).join("\n");
		return [make("h2", "", title), make("pre", "headers", text)];
	}
	function part(title, i) {
		if (i < 0) return [];
		const e = events[i], parts = [make("h2", "", title + " · " + (e.at / 1000).toFixed(3) + " s")];
		if (e.message) parts.push(make("pre", "message", pretty(e.message)));
		if (e.text) parts.push(make("pre", "", e.text));
		if (e.error) parts.push(make("pre", "", e.error));
		if (e.http) {
			parts.push(facts([["HTTP", e.http.method + " " + e.http.url], ["status", e.http.status || null], ["ms", e.ms || null]]));
			parts.push(...headers("Request headers", e.http.request), ...headers("Answer's headers", e.http.response));
		}
		return parts;
	}
	function detail(event, call) {
		const i = events.indexOf(event), where = lines[event.line], parts = [make("h2", "", event.title)];
		parts.push(facts([
			["server", where.label], ["carrier", where.carrier], ["revision", where.revision], ["end of the line", where.end],
			["event", event.kind], ["bytes", event.size || null], ["delivery", event.delivery],
		]));
		if (!call) {
			parts.push(...part(event.kind, i));
		} else {
			parts.push(facts([
				["id", call.id], ["outcome", call.outcome], ["why", call.detail],
				["took", call.end === null ? "" : time(call.end - call.start)], ["progress", call.progress || null],
				["HTTP status", call.status || null],
			]));
			if (i !== call.asked && i !== call.answered && i !== call.http) parts.push(...part(event.kind, i));
			parts.push(...part("request", call.asked), ...part("answer", call.answered), ...part("HTTP", call.http));
		}
		$("detail").replaceChildren(...parts);
		$("detail").scrollTop = 0;
	}

	setZoom(1);
	filter();
	document.documentElement.dataset.ready = "yes";
})();
