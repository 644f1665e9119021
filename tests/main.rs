//! Whole runs of the program, checked against exact answers.
