from trainer.comparison import Score, format_scores


def test_the_table() -> None:
    table = format_scores([Score("raw features", 1280, {1: 50.04, 10: 40.0}), Score("nml", 8, {1: 60.0, 10: 55.55})])
    assert table.splitlines() == [
        "method            d   bytes    mprec@1   mprec@10",
        "raw features   1280    5120       50.0       40.0",
        "nml               8      32       60.0       55.5",
    ]
