// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"regexp"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
)

// maxLine is more than the longest line of the trail has, in bytes.
const maxLine = 1 << 16

// Event is a line that was read.
type Event struct {
	Time time.Time
	// What is the line's message: Allocated, Released, ...
	What  string
	Entry Entry
	// Manager is the pod that wrote the line; "" if the line does not name it.
	Manager string
	// Message is that of a refusal, or why something was abandoned.
	Message string
}

// Extent is what was read of a log.
type Extent struct {
	// Begins is the time of the first line; zero if no line has one.
	Begins time.Time
	// Torn is how many lines are of the trail and cannot be read.
	Torn int
}

// Read passes on the events of a log, in its order. It knows the text and the JSON form, with what kubectl logs
// and container runtimes put before a line, and skips lines that are not of the trail. The text form has no year:
// a line is of the last year in which it is not later than now.
func Read(log io.Reader, now time.Time, each func(Event)) (Extent, error) {
	var extent Extent
	lines := bufio.NewReaderSize(log, maxLine)
	for {
		line, err := readLine(lines)
		if l := parseLine(line, now); l.isAudit || !l.time.IsZero() {
			extent.note(l, each)
		}
		if errors.Is(err, io.EOF) {
			return extent, nil
		}
		if err != nil {
			return extent, fmt.Errorf("reading a log: %w", err)
		}
	}
}

// note passes on the event of a line, and notes what the line tells of the log.
func (x *Extent) note(l line, each func(Event)) {
	if !l.time.IsZero() && (x.Begins.IsZero() || l.time.Before(x.Begins)) {
		x.Begins = l.time
	}
	if !l.isAudit {
		return
	}
	event, err := l.event()
	if err != nil {
		x.Torn++
		return
	}
	each(event)
}

// readLine returns the next line; "" for one that is too long to be of the trail.
func readLine(lines *bufio.Reader) (string, error) {
	text, err := lines.ReadSlice('\n')
	if !errors.Is(err, bufio.ErrBufferFull) {
		return string(bytes.TrimRight(text, "\r\n")), err
	}
	for errors.Is(err, bufio.ErrBufferFull) {
		_, err = lines.ReadSlice('\n')
	}
	return "", err
}

// line is a line of a log, before its values are read.
type line struct {
	time    time.Time
	manager string
	isAudit bool
	message string
	// values are by key; nil where the line is torn.
	values map[string]string
}

var (
	// lead is what stands before a line: a pod ("[pod/NAME/CONTAINER] "), a time, and what a container runtime adds.
	lead = regexp.MustCompile(`^(?:\[pod/([^/\]]+)/[^\]]*\] )?(?:(\d{4}-\d\d-\d\dT\S+) )?(?:std(?:out|err) [FP] )?`)
	// header begins a line of the text form.
	header = regexp.MustCompile(`^[IWEF](\d{4} \d\d:\d\d:\d\d\.\d+) +\d+ [^\]]+\] `)
	// audited ends the message of a line of the trail.
	audited = regexp.MustCompile(`^"([A-Za-z]+)" logger="audit" ?`)
	// pair is a key with its value.
	pair = regexp.MustCompile(`^([A-Za-z]+)=("(?:[^"\\]|\\.)*"|<)(?: |$)`)
)

func parseLine(text string, now time.Time) line {
	before := lead.FindStringSubmatch(text)
	l := line{manager: before[1]}
	l.time, _ = time.Parse(time.RFC3339Nano, before[2])
	text = text[len(before[0]):]
	if strings.HasPrefix(text, "{") {
		l.parseJSON(text)
		return l
	}
	if head := header.FindStringSubmatch(text); head != nil {
		if l.time.IsZero() {
			l.time = yearBefore(head[1], now)
		}
		l.parseText(text[len(head[0]):])
	}
	return l
}

// yearBefore reads a time without a year.
func yearBefore(text string, now time.Time) time.Time {
	latest := now.AddDate(0, 0, 1) // clocks differ
	for year := latest.Year(); year > latest.Year()-8; year-- {
		t, err := time.Parse("2006 0102 15:04:05.000000", fmt.Sprintf("%d %s", year, text))
		if err == nil && t.Before(latest) {
			return t
		}
	}
	return time.Time{}
}

// parseText reads what follows the header of the text form.
func (l *line) parseText(text string) {
	said := audited.FindStringSubmatch(text)
	if said == nil {
		return
	}
	l.isAudit, l.message = true, said[1]
	values := map[string]string{}
	for text = text[len(said[0]):]; text != ""; {
		found := pair.FindStringSubmatch(text)
		if found == nil {
			return // torn
		}
		if found[2] == "<" {
			break // a text of several lines comes last
		}
		value, err := strconv.Unquote(found[2])
		if err != nil {
			return
		}
		values[found[1]] = value
		text = text[len(found[0]):]
	}
	l.values = values
}

// parseJSON reads a line of the JSON form.
func (l *line) parseJSON(text string) {
	var fields map[string]any
	if json.Unmarshal([]byte(text), &fields) != nil {
		// Keys come in a fixed order: a torn line that has the logger is of the trail.
		l.isAudit = strings.Contains(text, `,"logger":"audit",`)
		return
	}
	if ms, isNumber := fields["ts"].(float64); isNumber && l.time.IsZero() {
		l.time = time.UnixMicro(int64(ms * 1000)).UTC()
	}
	if l.isAudit = fields["logger"] == "audit"; !l.isAudit {
		return
	}
	l.values = map[string]string{}
	for key, value := range fields {
		l.values[key], _ = value.(string)
	}
	l.message = l.values["msg"]
}

var errTorn = errors.New("the line is torn")

// event reads the values of a line.
func (l *line) event() (Event, error) {
	if l.values == nil || l.message == "" {
		return Event{}, errTorn
	}
	v := l.values
	e := Event{Time: l.time, What: l.message, Manager: l.manager, Message: v["message"]}
	e.Entry.AddressSpace, e.Entry.Reason = v["addressSpace"], v["reason"]
	if v["prefix"] != "" {
		prefix, err := netip.ParsePrefix(v["prefix"])
		if err != nil {
			return Event{}, errTorn
		}
		e.Entry.Prefix = prefix
	}
	kind, namespace, name := unnamed(v["pool"])
	e.Entry.Pool = ipamv1.PoolReference{APIGroup: v["poolGroup"], Kind: kind, Namespace: namespace, Name: name}.Canonical()
	kind, namespace, name = unnamed(v["claim"])
	e.Entry.Claim = ipamv1.ClaimReference{APIGroup: v["claimGroup"], Kind: kind, Namespace: namespace, Name: name, UID: v["claimUID"]}
	e.Entry.Allocation.Namespace, e.Entry.Allocation.Name, _ = strings.Cut(v["allocation"], string(types.Separator))
	return e, nil
}

// unnamed takes apart what named has put together.
func unnamed(text string) (kind, namespace, name string) {
	kind, rest, _ := strings.Cut(text, "/")
	namespace, name, _ = strings.Cut(rest, "/")
	return kind, namespace, name
}
