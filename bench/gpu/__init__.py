"""What runs on a GPU, without anything of ours: copy this folder to a machine that has one."""
