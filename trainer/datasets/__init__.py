"""The image sets of the paper by name, each read from the folder that it is distributed as. Nothing is downloaded."""
