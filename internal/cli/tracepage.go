package cli

import (
	"bytes"
	"path/filepath"

	"mcpwire/internal/atomicfile"
	"mcpwire/internal/tracing"
)

// A pageView writes a page.
type pageView struct {
	*traceRun
	items []*tracing.Item
}

func (v *pageView) item(i *tracing.Item) error {
	v.items = append(v.items, i)
	return nil
}

// end writes the page, which only we may read, as the trace. What the filter chooses by a call is known only now.
func (v *pageView) end() error {
	var chosen []*tracing.Item
	for _, i := range v.items {
		if v.filter.Event(i, v.book.Start) {
			chosen = append(chosen, i)
		}
	}
	var page bytes.Buffer
	if err := tracing.WritePage(&page, "mcpwire trace "+filepath.Base(v.path), v.book, chosen); err != nil {
		return err
	}
	return atomicfile.Write(v.html, page.Bytes(), atomicfile.Options{Draft: ".mcpwire-page-"})
}
