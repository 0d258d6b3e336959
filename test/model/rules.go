// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package model

// Rules are the preconditions of the protocol. Each can be taken away alone.
type Rules struct {
	// DropNamesVersion: who lost a judgement drops its record at the version of the create's reply, and no later one.
	DropNamesVersion bool
	// JudgeExactVersion: a record is judged when the watch or a list shows the very version that was written.
	JudgeExactVersion bool
	// TakeoverKeepsWinners: a record that only younger ones overlap is not dropped by who takes it over.
	TakeoverKeepsWinners bool
	// AgeIsCertain: the revision of creation is the stored one, or that of a version that nobody has written since.
	AgeIsCertain bool
	// OlderRecordRule: who takes a record over drops it if an older one overlaps it.
	OlderRecordRule bool
	// LiveReadsBeforeDrop: release and repair read claim and answer from the server, not from a cache.
	LiveReadsBeforeDrop bool
	// NoDropByAge: repair does not drop the unanswered record of a claim that lives.
	NoDropByAge bool
	// NoForeignAnswer: an answer that carries another claim's UID is not adopted.
	NoForeignAnswer bool
	// StatusNamesUID: the claim's status is written for a claim of that UID only.
	StatusNamesUID bool
	// LiveReadBeforeDiscard: the claim is read from the server before an answer is removed as left over.
	LiveReadBeforeDiscard bool
	// WaiterBeforeWrite: who will judge a record is registered before the write that makes its version.
	WaiterBeforeWrite bool
	// RelistSettlesWaiters: a list that shows a record at a later version, or no more, tells whoever waits for it.
	RelistSettlesWaiters bool
	// WatchWithoutGaps: every event changes the index.
	WatchWithoutGaps bool
	// GraceForUnstored: the record of an own claim that was never stored is kept while its request may still be running.
	GraceForUnstored bool
	// ReleaseByUID: release and repair find the records of a claim by its UID, not by its name.
	ReleaseByUID bool
	// TakeoverGuards: who takes a record over puts back the finalizer that a drop cut short has taken.
	TakeoverGuards bool
	// TakesUpEveryRecord: of several half-made records of a claim each is taken over some time, not always the same one.
	TakesUpEveryRecord bool
	// LeaveMarkedAlone: a record that somebody else has marked for deletion is not taken over.
	LeaveMarkedAlone bool
}

// Protocol returns the rules as designed: all of them.
func Protocol() Rules {
	return Rules{
		DropNamesVersion:      true,
		JudgeExactVersion:     true,
		TakeoverKeepsWinners:  true,
		AgeIsCertain:          true,
		OlderRecordRule:       true,
		LiveReadsBeforeDrop:   true,
		NoDropByAge:           true,
		NoForeignAnswer:       true,
		StatusNamesUID:        true,
		LiveReadBeforeDiscard: true,
		WaiterBeforeWrite:     true,
		RelistSettlesWaiters:  true,
		WatchWithoutGaps:      true,
		GraceForUnstored:      true,
		ReleaseByUID:          true,
		TakeoverGuards:        true,
		TakesUpEveryRecord:    true,
		LeaveMarkedAlone:      true,
	}
}
