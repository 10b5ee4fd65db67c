# Prints, for each benchmark, mcpwire as a multiple of the limit: the median over the rounds, in each of which the two ran
# one after the other.

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

function ratio(name, unit,   i, ours, floor, pair) {
	ours = name SUBSEP "mcpwire" SUBSEP unit
	floor = name SUBSEP "limit" SUBSEP unit
	pair = name SUBSEP "pair" SUBSEP unit
	for (i = 1; i <= n[ours] && i <= n[floor]; i++) {
		if (values[floor, i] == 0) return "-"
		values[pair, i] = values[ours, i] / values[floor, i]
		n[pair] = i
	}
	return n[pair] ? sprintf("%.2f", median(pair)) : "-"
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
