// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"fmt"
	"net/netip"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/go-logr/logr/funcr"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
)

// record has the lines of a test collected.
func record(t *testing.T) *[]string {
	t.Helper()
	lines, before := &[]string{}, log
	log = funcr.NewJSON(func(line string) { *lines = append(*lines, line) }, funcr.Options{})
	t.Cleanup(func() { log = before })
	return lines
}

func entry(reason string) Entry {
	return Entry{
		Prefix: netip.MustParsePrefix("10.0.0.8/32"), AddressSpace: "default",
		Pool:       ipamv1.PoolReference{Kind: "GlobalIPPool", Name: "p"},
		Claim:      ipamv1.ClaimReference{APIGroup: "ipam.cluster.x-k8s.io", Kind: "IPAddressClaim", Namespace: "ns", Name: "a", UID: "1"},
		Allocation: types.NamespacedName{Namespace: "ns", Name: "a-1"}, Reason: reason,
	}
}

// TestLines: what docs/reference/audit.md promises to those who read the lines with a program.
func TestLines(t *testing.T) {
	g, lines := NewWithT(t), record(t)
	Allocated(entry(Requested))
	Adopted(entry(Arrived))
	Released(entry(Cooling))
	refused := entry("PoolExhausted")
	refused.Prefix, refused.AddressSpace, refused.Allocation = netip.Prefix{}, "", types.NamespacedName{}
	Refused(refused, "full")
	const who = `"pool":"GlobalIPPool//p","poolGroup":"ipam.weir.dev","claim":"IPAddressClaim/ns/a","claimGroup":"ipam.cluster.x-k8s.io","claimUID":"1"`
	const what = `"address":"10.0.0.8","prefix":"10.0.0.8/32","addressSpace":"default",` + who + `,"allocation":"ns/a-1"`
	g.Expect(*lines).To(HaveExactElements(
		`{"logger":"","level":0,"msg":"Allocated",`+what+`,"reason":"Requested"}`,
		`{"logger":"","level":0,"msg":"Adopted",`+what+`,"reason":"Arrived"}`,
		`{"logger":"","level":0,"msg":"Released",`+what+`,"reason":"Cooling"}`,
		`{"logger":"","level":0,"msg":"Refused",`+who+`,"reason":"PoolExhausted","message":"full"}`,
	))
}

// TestEmptyKeysAreLeftOut: whoever reads the lines need not tell an empty value from none.
func TestEmptyKeysAreLeftOut(t *testing.T) {
	g, lines := NewWithT(t), record(t)
	Abandoned(Entry{Claim: ipamv1.ClaimReference{Kind: "IPClaim", Namespace: "ns", Name: "a"}, Reason: Unreachable}, "", "gone")
	Refused(Entry{Pool: ipamv1.PoolReference{Kind: "IPPool", Namespace: "ns"}, Reason: "NotFound"}, "none")
	ForceReleased(Entry{Reason: Forced}, "")
	ReleasedOutside(Entry{Reason: Surplus}, "id")
	g.Expect(*lines).To(HaveExactElements(
		`{"logger":"","level":0,"msg":"Abandoned","claim":"IPClaim/ns/a","reason":"Unreachable","message":"gone"}`,
		`{"logger":"","level":0,"msg":"Refused","pool":"IPPool/ns/","poolGroup":"ipam.weir.dev","reason":"NotFound","message":"none"}`,
		`{"logger":"","level":0,"msg":"ForceReleased","reason":"Forced"}`,
		`{"logger":"","level":0,"msg":"Released","reason":"Surplus","externalID":"id"}`,
	))
}

// TestDocumented: the page names each message, key and reason.
func TestDocumented(t *testing.T) {
	g := NewWithT(t)
	page, err := os.ReadFile("../../docs/reference/audit.md")
	g.Expect(err).NotTo(HaveOccurred())
	words := []string{
		"Allocated", "Adopted", "Released", "Refused", "HandedBack", HandBackEnded,
		Requested, TakenOver, Arrived, Conflict, Gone, Cooling, Retained, CooledDown, RetentionEnded, HoldEnded, Void, Surplus, "message",
	}
	for i, key := range entry("").keys() {
		if i%2 == 0 {
			words = append(words, fmt.Sprint(key))
		}
	}
	for _, word := range words {
		g.Expect(strings.Contains(string(page), "`"+word+"`")).To(BeTrue(), word)
	}
}

// TestRefusalsAreToldWhenTheyChange: a client that tries again and again makes one line.
func TestRefusalsAreToldWhenTheyChange(t *testing.T) {
	g, lines := NewWithT(t), record(t)
	var r Refusals
	tell := func(uid, message string) int {
		e := entry("InsufficientStorage")
		e.Claim.UID = uid
		r.Tell(e, message)
		return len(*lines)
	}
	g.Expect(tell("1", "full")).To(Equal(1))
	g.Expect(tell("2", "full")).To(Equal(1), "the same again")
	g.Expect(tell("3", "paused")).To(Equal(2), "something else")
	r.Forget(entry("").Claim)
	g.Expect(tell("4", "paused")).To(Equal(3), "it was not refused in between")
	for i := range 2 * remembered {
		e := entry("x")
		e.Claim.Name = fmt.Sprint(i)
		r.Tell(e, "full")
	}
	g.Expect(len(r.told)).To(BeNumerically("<=", remembered))
}

// TestNothingOfWhatCallersSendIsKept: they send as much as they like under ever new names, and no quota counts it.
func TestNothingOfWhatCallersSendIsKept(t *testing.T) {
	g, lines := NewWithT(t), record(t)
	var r Refusals
	before, long := inUse(), strings.Repeat("a", 900_000)
	for i := range 40 {
		e, text := entry("NotFound"), fmt.Sprint(i, long)
		e.Pool.Name, e.Claim.Name, e.Claim.UID, e.Claim.APIGroup = text, text, text, text
		r.Tell(e, text)
	}
	g.Expect(*lines).To(HaveLen(40))
	g.Expect(len((*lines)[0])).To(BeNumerically("<", 8<<10))
	g.Expect(inUse() - before).To(BeNumerically("<", 4<<20))
	runtime.KeepAlive(&r)
}

// inUse returns how many bytes the heap has.
func inUse() int64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}
