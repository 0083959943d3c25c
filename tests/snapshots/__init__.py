"""What each command says of one small model, in each of its formats: the files beside this one."""
