// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// msPerTick: Linux counts a process's time in hundredths of a second.
const msPerTick = 10

// cpuTimes are milliseconds of CPU time by program, since its start. They say
// where the time goes even on a machine that others use at the same time.
type cpuTimes map[string]float64

// cpuTimes reads what the processes have used; nothing where there is no /proc.
func (e *environment) cpuTimes() cpuTimes {
	pids := e.site.PIDs()
	pids["bench"] = os.Getpid()
	if e.manager != nil {
		pids["weir"] = e.manager.PID()
	}
	times := cpuTimes{}
	for name, pid := range pids {
		if ms, ok := cpuTime(pid); ok {
			times[name] = ms
		}
	}
	return times
}

// cpuTime reads user and system time: the 14th and 15th field of stat, the
// second being the program's name in parentheses.
func cpuTime(pid int) (ms float64, ok bool) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, false
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	fields := strings.Fields(rest)
	if len(fields) < 13 {
		return 0, false
	}
	user, err1 := strconv.ParseFloat(fields[11], 64)
	system, err2 := strconv.ParseFloat(fields[12], 64)
	return msPerTick * (user + system), err1 == nil && err2 == nil
}

// perClaim returns what was used after an earlier reading, for one claim.
func (c cpuTimes) perClaim(before cpuTimes, claims int) cpuTimes {
	out := cpuTimes{}
	for name, ms := range c {
		out[name] = (ms - before[name]) / float64(claims)
	}
	return out
}
