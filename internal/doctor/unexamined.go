package doctor

import (
	"time"

	"mcpwire/config"
)

// Unexamined is the report of a server that is not looked at, for a reason that a finding tells. Nothing is started.
func Unexamined(s config.Server, v Verdict, id, text, fix string) *Report {
	f := &facts{server: s, masked: s.Masked(), options: &Options{}, mask: masker(s)}
	r := newReport(s)
	f.entry(r, nil)
	entry := r.Steps[0]
	entry.Verdict = Skipped
	entry.find(v, id, text, fix)
	return r.finish(time.Now(), f.mask)
}

// Unusable is the report of an entry, or a file, that can't be used.
func Unusable(name string, faults []error) *Report {
	r := &Report{Name: name}
	s := r.step(Entry)
	for _, fault := range faults {
		s.find(Broken, "entry-invalid", fault.Error(), "correct what stands there")
	}
	return r.finish(time.Now(), func(text string) string { return text })
}
