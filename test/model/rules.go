// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import "reflect"

// Rules are the preconditions of the protocol. Each can be switched off alone.
type Rules struct {
	// Judging and taking over.

	// DeleteNamesVersion: a manager that lost a judgement deletes its record at the version that
	// its own write returned, and at no later one.
	DeleteNamesVersion bool
	// JudgeExactVersion: a record is judged when the watch or a list shows exactly the version that
	// was written.
	JudgeExactVersion bool
	// TakeoverKeepsWinners: the manager that takes a record over keeps it if only younger records
	// overlap it.
	TakeoverKeepsWinners bool
	// AgeIsCertain: the creation revision is the stored one, or the version of a record that has
	// not been written since its creation.
	AgeIsCertain bool
	// OlderRecordRule: the manager that takes a record over deletes it if an older record overlaps
	// it.
	OlderRecordRule bool
	// WaiterBeforeWrite: a waiter is registered before the write whose version it waits for.
	WaiterBeforeWrite bool
	// RelistResolvesWaiters: a list that shows a record at a later version, or not at all, notifies
	// its waiter.
	RelistResolvesWaiters bool
	// WatchWithoutGaps: every event is applied to the index.
	WatchWithoutGaps bool
	// TakeoverSetsFinalizer: a take-over puts back the finalizer that an interrupted deletion has
	// removed.
	TakeoverSetsFinalizer bool
	// TerminatingIsNotTakenOver: a record that another writer has marked for deletion is not taken
	// over.
	TerminatingIsNotTakenOver bool

	// Answers.

	// WinnersCool: a record that has won, whose claim is answered otherwise, is released like one that was
	// reported: the claim may be on its way out, and have been told of both.
	WinnersCool bool
	// NoForeignAnswer: an answer that carries another claim's UID is not adopted.
	NoForeignAnswer bool
	// StatusNamesUID: a status is written only to the claim of the UID that it is about.
	StatusNamesUID bool
	// LiveReadBeforeAnswerDelete: the claim is read from the server before a leftover answer is
	// deleted.
	LiveReadBeforeAnswerDelete bool

	// Answers by status.

	// CommitNamesVersion: a status is written only to the version of the claim that was read before
	// its answers were.
	CommitNamesVersion bool
	// StatusStays: a claim whose status names an answer gets no other, whether or not that answer is
	// seen.
	StatusStays bool
	// StraysGoAfterCommit: of a living claim's answers and records none is removed before its status
	// names another.
	StraysGoAfterCommit bool
	// StrayIsReadFirst: an answer that the status does not name is read before that status is.
	StrayIsReadFirst bool
	// NameClashDropsNothing: a record that has won stays, also if the name of its answer is taken.
	NameClashDropsNothing bool
	// ArrivedIsListed: a restored claim is answered after a live list of the answers that name it.
	ArrivedIsListed bool
	// SeveralAreNotChosen: a claim that was restored with several answers gets none of them.
	SeveralAreNotChosen bool

	// Release and repair.

	// LiveReadsBeforeRelease: release and repair read claim and answer from the server, not from a
	// cache.
	LiveReadsBeforeRelease bool
	// NoReleaseByAge: repair does not release the unanswered record of a live claim.
	NoReleaseByAge bool
	// ReleaseByUID: release and repair find the records of a claim by its UID, not by its name.
	ReleaseByUID bool

	// Cooldown.

	// CoolingIsTaken: a record that cools down blocks its addresses for every claim.
	CoolingIsTaken bool
	// ExpiryReadsClaim: an expired record is deleted only after a live read shows that its claim is
	// gone.
	ExpiryReadsClaim bool

	// Claims that are restored with their answers.

	// AdoptionIsRecorded: an answer of the claim's UID is reported only when a record of the claim
	// covers its addresses.
	AdoptionIsRecorded bool
	// RecordMustHaveWon: the existence of that record is not enough. It must have won here, or the
	// claim must be ready.
	RecordMustHaveWon bool
	// OwnerIsProved: an answer without an owner is given to a claim, or deleted with it, only if a
	// live read after the answer was seen shows the claim.
	OwnerIsProved bool
	// AdoptionReleasesNothing: a restored claim that cannot be recorded does not release the
	// records that conflict with it.
	AdoptionReleasesNothing bool
	// AdoptionPassesOtherUIDs: an adopting claim does not lose to a record of the same name and
	// another UID.
	AdoptionPassesOtherUIDs bool
	// OtherUIDGoesLast: that record is released only after the claim's own record has won here.
	OtherUIDGoesLast bool

	// Weir kinds.

	// GraceForUnstored: the record of a Weir claim that was never stored is kept for the grace
	// period.
	GraceForUnstored bool
	// GraceOutlivesRequests: the grace period is longer than any request.
	GraceOutlivesRequests bool
	// GraceIsPerRecord: a stored Weir claim of the same name does not end the grace period of this
	// record. Once the other claim is gone, the API server may still store the claim of this
	// record.
	GraceIsPerRecord bool
	// BindDeletesNothing: binding keeps the record of a stored claim, whatever the verdict.
	BindDeletesNothing bool
	// SecondYields: of two records of one claim for the same addresses, the younger does not block
	// the older, and is deleted.
	SecondYields bool

	// SecondIsJudged: the manager that deletes the younger of two records of one claim has taken it
	// over and seen it lose.
	SecondIsJudged bool

	// What the pool keeps.

	// KeptIsNotJudged: what the pool keeps for a claim decides what is chosen, and never which
	// record wins. The pool is another resource type, and each manager sees it at its own time.
	KeptIsNotJudged bool

	// Retention.

	// RetainedIsTaken: a retained record blocks its addresses for every claim of another name.
	RetainedIsTaken bool
	// RetainedPassesNextClaim: the next claim of the name does not lose to the record retained for
	// it.
	RetainedPassesNextClaim bool
	// RetainedGoesLast: a retained record is released only after the next claim of the name is
	// stored and has its own record.
	RetainedGoesLast bool
	// RetainedReadFirst: the records retained for a claim are read before the claim is read live.
	RetainedReadFirst bool
	// RetainProves: before a retaining claim is released without a record, the manager proves that
	// it has none.
	RetainProves bool
	// OwnersGoWithRelease: the write that releases a record also removes its owner references.
	OwnersGoWithRelease bool

	// Moves to another cluster.

	// MovingKeepsFinalizer: admission keeps Weir's finalizer on a record that moves out of a pool
	// that stays.
	MovingKeepsFinalizer bool
	// MovingIsKept: repair and release leave moving records alone.
	MovingIsKept bool
	// ReservationBeforeRelease: the reservation is stored before the record that it replaces is
	// released.
	ReservationBeforeRelease bool
	// ReservationOutlivesClaim: no manager deletes a reservation because its claim is gone.
	ReservationOutlivesClaim bool
	// LosersAreNotReserved: no reservation is stored for a record that an older record overlaps.
	LosersAreNotReserved bool
	// StoredIsRefused: nothing is recorded for a Weir claim while another claim of its name is
	// stored.
	StoredIsRefused bool
	// ReservationIsNoOlder: a reservation is as old as itself, not as the record that it replaces. It
	// may be stored too late, when an earlier one has ended and another claim's record has won.
	ReservationIsNoOlder bool
	// ReservationEndsWithReturn: a reservation ends with the claim that has come back with its
	// addresses, and not with another claim of the name.
	ReservationEndsWithReturn bool
	// MovedIsRefused: addresses that are moving or have moved to another cluster are given only to
	// the claim that comes back with them.
	MovedIsRefused bool

	// Carved pools.

	// OnlyAncestorsEnclose: a block may overlap the records of its own pool, and no others.
	OnlyAncestorsEnclose bool
	// UprootedMayHaveWon: a record whose pool's block is gone is not deleted because of the root's
	// block around it.
	UprootedMayHaveWon bool
}

// Protocol returns the rules as designed: all of them on.
func Protocol() Rules {
	var rules Rules
	for i := range reflect.TypeFor[Rules]().NumField() {
		reflect.ValueOf(&rules).Elem().Field(i).SetBool(true)
	}
	return rules
}

// Without returns all rules but one.
func Without(name string) Rules {
	rules := Protocol()
	reflect.ValueOf(&rules).Elem().FieldByName(name).SetBool(false)
	return rules
}
