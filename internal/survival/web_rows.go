package survival

func webRows() []Row {
	return join(statusRows(), bodyRows(), connectionRows(), eventRows(), standingRows(), sessionRows(), redirectRows(), legacyRows(), secretRows(), eraRows(), repeatRows(), networkRows(), webMemoryRows(), oneshotRows())
}
