# Prints, for each benchmark, the medians of mcpwire as multiples of those of the limit.

/^Benchmark.*client=/ {
	name = $1
	sub(/-[0-9]+$/, "", name)
	client = name
	sub(/.*client=/, "", client)
	sub(/\/client=.*/, "", name)
	sub(/^Benchmark/, "", name)
	if (!(name in known)) {
		known[name] = 1
		names[++count] = name
	}
	for (i = 3; i < NF; i += 2) {
		key = name SUBSEP client SUBSEP $(i + 1)
		values[key, ++n[key]] = $i
	}
}

# Sorts what there is by insertion: it is little.
function median(key,   i, j, v, sorted) {
	for (i = 1; i <= n[key]; i++) {
		v = values[key, i] + 0
		for (j = i - 1; j > 0 && sorted[j] > v; j--) sorted[j + 1] = sorted[j]
		sorted[j + 1] = v
	}
	return (sorted[int((n[key] + 1) / 2)] + sorted[int(n[key] / 2) + 1]) / 2
}

function ratio(name, unit,   ours, floor) {
	ours = name SUBSEP "mcpwire" SUBSEP unit
	floor = name SUBSEP "limit" SUBSEP unit
	if (!n[ours] || !n[floor] || median(floor) == 0) return "-"
	return sprintf("%.2f", median(ours) / median(floor))
}

# What mcpwire takes by itself, where the limit may take nothing.
function own(name, unit,   key) {
	key = name SUBSEP "mcpwire" SUBSEP unit
	return n[key] ? sprintf("%.4g", median(key)) : "-"
}

END {
	printf "%-58s %8s %8s %10s %10s %8s %6s\n", "mcpwire / limit", "time", "CPU", "allocs", "B/op", "B/line", "gor."
	for (i = 1; i <= count; i++) {
		name = names[i]
		printf "%-58s %8s %8s %10s %10s %8s %6s\n", name, ratio(name, "ns/op"), ratio(name, "cpu-ns/op"), \
			own(name, "allocs/op"), own(name, "B/op"), own(name, "B/line"), own(name, "goroutines/line")
	}
	print "time and CPU as multiples of the limit; what follows is mcpwire's own"
	print ""
}
