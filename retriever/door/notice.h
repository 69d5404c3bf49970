/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Something that several peers have to note before it is done.  Main thread. */
#ifndef NOTICE_H
#define NOTICE_H

struct notice;

/* To be noted once, by whoever makes it. */
struct notice *notice_new(void (*done)(void *arg), void *arg);
/* By one more. */
void notice_add(struct notice *notice);
/* By one of them, or it is gone; the last calls done. */
void notice_noted(struct notice *notice);

#endif
