package cli

import (
	"cmp"
	"slices"
	"strings"
)

// didYouMean returns "; did you mean a, b or c?", with the known names nearest to name, or nothing.
func didYouMean(name string, known []string) string {
	near := nearest(name, known)
	if len(near) == 0 {
		return ""
	}
	return "; did you mean " + either(near) + "?"
}

// either lists names: "a, b or c".
func either(names []string) string {
	last := len(names) - 1
	if last < 1 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

const nearestShown = 3

// nearest returns up to three of the known names that name may have been meant for, nearest first.
func nearest(name string, known []string) []string {
	type candidate struct {
		name     string
		distance int
	}
	var found []candidate
	wanted := strings.ToLower(name)
	for _, k := range known {
		have := strings.ToLower(k)
		distance := editDistance(wanted, have)
		part := len(wanted) >= 3 && (strings.Contains(have, wanted) || len(have) >= 3 && strings.Contains(wanted, have))
		if distance <= max(1, len(wanted)/3) || part {
			found = append(found, candidate{k, distance})
		}
	}
	slices.SortStableFunc(found, func(a, b candidate) int { return cmp.Compare(a.distance, b.distance) })
	var names []string
	for _, c := range found[:min(len(found), nearestShown)] {
		names = append(names, c.name)
	}
	return names
}

// editDistance is how many characters must be inserted, deleted, replaced, or swapped with their neighbour to get from
// one text to the other.
func editDistance(from, to string) int {
	a, b := []rune(from), []rune(to)
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			replace := last[j-1]
			if a[i-1] != b[j-1] {
				replace++
			}
			row[j] = min(replace, last[j]+1, row[j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
