// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import "reflect"

// Rules are the preconditions of the protocol. Each can be taken away alone.
type Rules struct {
	// Judging and taking over.

	// DeleteNamesVersion: who lost a judgement drops its record at the version of the create's reply, and no later one.
	DeleteNamesVersion bool
	// JudgeExactVersion: a record is judged when the watch or a list shows the very version that was written.
	JudgeExactVersion bool
	// TakeoverKeepsWinners: a record that only younger ones overlap is not dropped by who takes it over.
	TakeoverKeepsWinners bool
	// AgeIsCertain: the revision of creation is the stored one, or that of a version that nobody has written since.
	AgeIsCertain bool
	// OlderRecordRule: who takes a record over drops it if an older one overlaps it.
	OlderRecordRule bool
	// WaiterBeforeWrite: who will judge a record is registered before the write that makes its version.
	WaiterBeforeWrite bool
	// RelistResolvesWaiters: a list that shows a record at a later version, or no more, tells whoever waits for it.
	RelistResolvesWaiters bool
	// WatchWithoutGaps: every event changes the index.
	WatchWithoutGaps bool
	// TakeoverSetsFinalizer: who takes a record over puts back the finalizer that a drop cut short has taken.
	TakeoverSetsFinalizer bool
	// TerminatingIsNotTakenOver: a record that somebody else has marked for deletion is not taken over.
	TerminatingIsNotTakenOver bool

	// Answers.

	// NoForeignAnswer: an answer that carries another claim's UID is not adopted.
	NoForeignAnswer bool
	// StatusNamesUID: the claim's status is written for a claim of that UID only.
	StatusNamesUID bool
	// LiveReadBeforeAnswerDelete: the claim is read from the server before an answer is removed as left over.
	LiveReadBeforeAnswerDelete bool

	// Release and repair.

	// LiveReadsBeforeRelease: release and repair read claim and answer from the server, not from a cache.
	LiveReadsBeforeRelease bool
	// NoReleaseByAge: repair does not drop the unanswered record of a claim that lives.
	NoReleaseByAge bool
	// ReleaseByUID: release and repair find the records of a claim by its UID, not by its name.
	ReleaseByUID bool

	// Cooling.

	// CoolingIsTaken: what cools down is taken, for everybody.
	CoolingIsTaken bool
	// ExpiryReadsClaim: what has cooled down is dropped once a live read shows that its claim is gone.
	ExpiryReadsClaim bool

	// Claims that arrive with their answers.

	// AdoptionIsRecorded: an answer of the claim's UID is reported only when a record of the claim holds its addresses.
	AdoptionIsRecorded bool
	// RecordMustHaveWon: that there is a record does not do: it has won here, or the claim has been told so.
	RecordMustHaveWon bool
	// OwnerIsProved: an answer that has lost its owner is given to a claim, or removed with it, that a live read shows after it.
	OwnerIsProved bool
	// AdoptionReleasesNothing: who cannot record what it came with leaves what is in the way.
	AdoptionReleasesNothing bool
	// AdoptionPassesOtherUIDs: the record of an earlier claim of the name is no reason to lose for one that adopts.
	AdoptionPassesOtherUIDs bool
	// OtherUIDGoesLast: that record goes when the claim's own has won here.
	OtherUIDGoesLast bool

	// Own kinds.

	// GraceForUnstored: the record of an own claim that was never stored is kept for the grace.
	GraceForUnstored bool
	// GraceOutlivesRequests: the grace is longer than any request.
	GraceOutlivesRequests bool
	// GraceIsPerRecord: that another own claim of the name was stored says nothing of this record's: once the other is gone, the API server
	// may store this one.
	GraceIsPerRecord bool
	// BindDeletesNothing: the record of a stored claim is kept whatever it is judged when it is bound.
	BindDeletesNothing bool
	// SecondYields: of two records of one claim for the same the younger keeps the older from nothing, and goes.
	SecondYields bool

	// SecondIsJudged: who drops the younger of two records of one claim has taken it over, and seen it lose.
	SecondIsJudged bool

	// Retention.

	// RetainedIsTaken: what is retained is taken, for everybody but the claim of its name.
	RetainedIsTaken bool
	// RetainedPassesNextClaim: what is retained for a claim is no reason to lose for that.
	RetainedPassesNextClaim bool
	// RetainedGoesLast: what is retained goes when the claim that it was for is stored, and has its own record.
	RetainedGoesLast bool
	// RetainedReadFirst: what a claim finds retained is read before the claim is read live.
	RetainedReadFirst bool
	// RetainProves: that a claim to be retained has no record is proved.
	RetainProves bool
	// OwnersGoWithRelease: the owners are taken off a record in the write that lets go of it.
	OwnersGoWithRelease bool

	// Moves to another cluster.

	// MovingKeepsFinalizer: admission leaves its finalizer to a record that moves out of a pool that stays.
	MovingKeepsFinalizer bool
	// MovingIsKept: repair and release leave alone what moves.
	MovingIsKept bool
	// ReservationBeforeRelease: the hold is stored before the record goes that it stands for.
	ReservationBeforeRelease bool
	// ReservationOutlivesClaim: nobody drops a hold because its claim is gone.
	ReservationOutlivesClaim bool
	// LosersAreNotReserved: nothing is held for a record that an older one overlaps.
	LosersAreNotReserved bool
	// StoredIsRefused: nothing is recorded for an own claim while another of its name is stored.
	StoredIsRefused bool
	// ReservationKeepsAge: a hold is as old as the record that it stands for.
	ReservationKeepsAge bool
	// MovedIsRefused: what is going, or has gone, to another cluster nobody gets but who comes back with it.
	MovedIsRefused bool

	// Carved pools.

	// OnlyAncestorsEnclose: a block is meant to overlap what its own pool hands out, and nothing else.
	OnlyAncestorsEnclose bool
	// UprootedMayHaveWon: a record whose pool's block is gone is not dropped for the root's block around it.
	UprootedMayHaveWon bool
}

// Protocol returns the rules as designed: all of them.
func Protocol() Rules {
	var rules Rules
	for i := range reflect.TypeFor[Rules]().NumField() {
		reflect.ValueOf(&rules).Elem().Field(i).SetBool(true)
	}
	return rules
}

// Without returns the rules but one.
func Without(name string) Rules {
	rules := Protocol()
	reflect.ValueOf(&rules).Elem().FieldByName(name).SetBool(false)
	return rules
}
