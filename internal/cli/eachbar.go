package cli

import (
	"fmt"
	"strings"
	"time"
)

// A progressBar shows on a terminal how far a batch is.
type progressBar struct {
	console *console
	tool    string
	total   int // lines; 0 where that is not known
	started time.Time
	end     func()
}

func (b *batch) newProgressBar(total int) *progressBar {
	p := &progressBar{console: b.console, tool: b.tool, total: total, started: time.Now()}
	p.end = b.console.wait(p.text(counts{}))
	return p
}

func (p *progressBar) show(c counts) { p.console.say(p.text(c)) }

// text is such as "calling add ███████░░░░░░░░░░░░░ 7/20, 1 failed, 35/s".
func (p *progressBar) text(c counts) string {
	text := fmt.Sprintf("calling %s %d", p.tool, c.all)
	if p.total > 0 {
		const cells = 20
		full := min(c.all*cells/p.total, cells)
		text = fmt.Sprintf("calling %s %s%s %d/%d", p.tool,
			strings.Repeat("█", full), strings.Repeat("░", cells-full), c.all, p.total)
	}
	if bad := c.all - c.named[resultDone]; bad > 0 {
		text += fmt.Sprintf(", %d failed", bad)
	}
	if now := c.all - c.earlier; now > 0 {
		text += fmt.Sprintf(", %.3g/s", float64(now)/max(time.Since(p.started).Seconds(), 0.001))
	}
	return text
}
