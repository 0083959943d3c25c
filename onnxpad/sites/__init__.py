"""Sites: operators that pad or crop, with all that pads what they read and crops what they give."""
