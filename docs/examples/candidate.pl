#!/usr/bin/env perl
# A candidate in Perl, with nothing but what comes with it: it calls the first tool it is offered,
# and tells the user what the tool said. A real one would ask a model what to do next.
use strict;
use warnings;
use JSON::PP;

$| = 1;    # each line must leave at once
my $json = JSON::PP->new->utf8->canonical->allow_nonref;

sub hear { my $line = <STDIN>; exit 0 unless defined $line; return $json->decode($line) }
sub say_line { print $json->encode(shift), "\n" }

my $start = hear();
my ($tool) = @{ $start->{tools} };
my $said = 'nothing: there is no tool';

if ($tool) {
    say_line({ type => 'call', call_id => 'call_1', tool => $tool->{name}, arguments => {} });
    my ($answer) = @{ hear()->{observations} };
    $said = "$answer->{status} " . $json->encode($answer->{content});
}
say_line({ type => 'final', message => "The tool said: $said" });
