"""Whether anything reads words back: commands say random text, and do the same."""
